"""What PyTorch and other frameworks say."""

from __future__ import annotations

from rocmdoctor.diagnosis.recognition import error_text

PYTHON_TEXTS = (
    error_text(
        "not-compiled-with-cuda",
        "Torch not compiled with CUDA enabled",
        """
        torch not compiled with cuda enabled
        torch was not compiled with cuda
        pytorch was compiled without cuda
        """,
        "This torch is the CPU build. ROCm builds answer to the name cuda as well, and come from their own index.",
        "torch_build.rocm torch_build.* python.*",
        "The environment that was looked at has a ROCm build: name the failing one with --python PATH.",
    ),
    error_text(
        "no-nvidia-driver",
        "Found no NVIDIA driver on your system",
        """
        found no nvidia driver on your system
        could not load dynamic library 'libcuda
        nvidia-smi has failed because it couldn't
        cuda initialization: found no nvidia driver
        """,
        "This torch (or another package) is the CUDA build, from the default index.",
        "torch_build.rocm torch_build.* python.*",
        "The environment that was looked at has a ROCm build: name the failing one with --python PATH.",
    ),
    error_text(
        "torchvision-nms",
        "operator torchvision::nms does not exist",
        """
        operator torchvision::nms does not exist
        couldn't load custom c++ ops
        torchvision/_c.so
        torchaudio...undefined symbol
        libtorchaudio...could not be loaded
        """,
        "torchvision or torchaudio is of another release or build than torch.",
        "torch_build.companions torch_build.rocm",
        "Install torch, torchvision and torchaudio in one command from one index.",
    ),
    error_text(
        "numpy",
        "_ARRAY_API not found",
        """
        _array_api not found
        a module that was compiled using numpy 1.x cannot be run in
        numpy.core.multiarray failed to import
        numpy is not available
        """,
        "A package was built against numpy 1, and numpy 2 is installed.",
        "python.numpy torch_build.*",
        "numpy fits torch here: the traceback names the package that was built against numpy 1.",
    ),
    error_text(
        "amdsmi",
        "amdsmi: module, name or library not found",
        """
        no module named 'amdsmi'
        name 'amdsmi' is not defined
        amdsmi is not defined
        amdsmilibraryexception
        amdsmi_init...fail
        import amdsmi
        amdsmi_wrapper.py
        amdsmi_cli.py
        from amdsmi_init import
        libamd_smi.so...undefined symbol
        unable to find libamd_smi
        double free or corruption
        could not initialize amdsmi
        """,
        "The Python package amdsmi is missing, of another ROCm, or pynvml is taken for it.",
        "python.amdsmi smi_tools.* rocm_side_by_side.* python.*",
        "The management tools prove nothing of compute access: if rocminfo and torch work, leave it.",
    ),
    error_text(
        "torch-install",
        "pip finds no torch",
        """
        no matching distribution found for torch
        could not find a version that satisfies the requirement torch
        torch...is not a supported wheel on this platform
        """,
        "The index has no wheel for this Python (or this machine), or no index was named.",
        "torch_build.* python.* torch_arch.*",
        "Compare `python3 --version` with the tags (cp310, cp312) of the wheels in the index.",
    ),
    error_text(
        "bus-error",
        "Bus error in a data loader",
        """
        unexpected bus error encountered in worker
        insufficient shared memory (shm)
        bus error (core dumped)
        dataloader worker...killed by signal: bus error
        killed by signal: bus error
        """,
        "/dev/shm is full: containers get 64 MiB unless told otherwise.",
        "memlock_shm.shm memlock_shm.* disk.*",
        "Run with fewer workers (num_workers=0) to see whether it is the shared memory.",
    ),
    error_text(
        "triton",
        "triton fails to import or compile",
        """
        no module named 'triton
        from 'triton
        triton...libamdhip64
        triton error [hip]
        cannot import name 'triton
        hipmodule...triton
        module 'triton
        """,
        "triton, triton-rocm and pytorch-triton-rocm own one folder: another one than torch wants is there, or none.",
        "triton.* python.vllm torch_build.* rocm_install.cxx-headers torch_arch.*",
        "Remove ~/.triton/cache and try again; triton needs a C compiler.",
    ),
    error_text(
        "bitsandbytes",
        "bitsandbytes: no library for this ROCm",
        """
        configured rocm binary not found
        libbitsandbytes_rocm
        libbitsandbytes_hip
        libbitsandbytes_cpu.so
        bitsandbytes was compiled without gpu support
        bitsandbytes library load error
        'nonetype' object has no attribute 'cquantize
        forgot to compile the bitsandbytes library
        """,
        "bitsandbytes loads one library per HIP version, and the wheel has none for this one.",
        "python.bitsandbytes torch_build.*",
        "List the folder bitsandbytes/: the number in libbitsandbytes_rocmXY.so is HIP's major and minor.",
    ),
    error_text(
        "flash-attn",
        "flash-attn is not for this GPU",
        """
        no module named 'flash_attn_2_cuda'
        flash_attn_2_cuda...cannot open shared object file
        flashattention only supports ampere
        flashattention only supports amd mi
        flash_attn...undefined symbol
        """,
        "flash-attn was built for CUDA, or for Instinct only.",
        "python.flash-attn torch_build.* torch_arch.*",
        "PyTorch's scaled_dot_product_attention uses ROCm's own kernels.",
    ),
    error_text(
        "vllm",
        "vLLM finds no platform",
        """
        failed to infer device type
        no platform detected, vllm is running on unspecifiedplatform
        vllm._c...cannot open shared object file
        no module named 'vllm._rocm_c'
        """,
        "vLLM is the CUDA build, or it does not see the GPU (it asks amdsmi).",
        "python.vllm torch_build.* python.amdsmi permissions.* kfd_node.* torch_arch.* visibility_env.*",
        "VLLM_LOGGING_LEVEL=DEBUG shows which platform was tried.",
    ),
    error_text(
        "jax",
        "JAX falls back to the CPU",
        """
        no gpu/tpu found, falling back to cpu
        unable to initialize backend 'rocm'
        jax plugin...is not compatible with the installed jaxlib
        unable to initialize backend 'gpu'
        an nvidia gpu may be present on this machine, but a cuda-enabled jaxlib
        """,
        "JAX found no plug-in that fits it, or the plug-in no GPU.",
        "python.jax permissions.* kfd_node.* rocm_install.* visibility_env.* gpu_present.device",
        "JAX_PLATFORMS=rocm turns the fall-back into an error that says more.",
    ),
    error_text(
        "onnxruntime",
        "ONNX Runtime has no provider for the GPU",
        """
        rocmexecutionprovider' is not in available provider names
        migraphxexecutionprovider' is not in available provider names
        provider 'rocmexecutionprovider
        failed to load library libonnxruntime_providers_rocm
        libonnxruntime_providers_migraphx
        cudaexecutionprovider' is not in available provider names
        failed to create cudaexecutionprovider
        """,
        "Another onnxruntime package has overwritten the one for AMD GPUs, or it is the CPU or CUDA build.",
        "python.onnxruntime rocm_install.* ld_path.*",
        "onnxruntime.get_available_providers() names what is there.",
    ),
    error_text(
        "ollama-version-file",
        "amdgpu version file missing",
        """
        amdgpu version file missing
        /sys/module/amdgpu/version: no such file
        """,
        "A notice: only the packaged (DKMS) driver has that file. The kernel's own driver works without it.",
        "amdgpu_module.* hsa_override.* gpu_support.* permissions.*",
        "Look for the line after it: that one tells why the GPU was left out.",
    ),
    error_text(
        "ollama-unsupported",
        "amdgpu is not supported (ollama, llama.cpp)",
        """
        amdgpu is not supported
        no compatible amdgpu devices detected
        amdgpu [0] gfx
        unsupported amdgpu
        unable to verify rocm library
        amdgpu detected, but no compatible rocm library
        """,
        "The program's own ROCm libraries lack the GPU's target, or an override is missing or wrong.",
        "hsa_override.* gpu_support.* permissions.* mixed_gpu.* kfd_node.* container.devices",
        "Such programs bring their own ROCm: its list of targets counts, not the installed one's.",
    ),
    error_text(
        "not-available",
        "torch.cuda.is_available() is False",
        """
        torch.cuda.is_available() returns false
        torch.cuda.is_available() false
        cuda.is_available()) false
        is_available(): false
        cuda available: false
        is cuda available: false
        """,
        "torch sees no GPU: the wrong build, no permission, or no driver.",
        "torch_build.rocm gpu_present.device amdgpu_module.* kfd_node.* permissions.* container.devices wsl.* "
        "visibility_env.* hsa_override.* rocm_install.libraries torch_rocm_match.* python.amdsmi ld_path.*",
        "Run torch.cuda.init(): it raises the reason that is_available() swallows.",
    ),
)
