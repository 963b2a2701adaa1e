"""What HSA, HIP and the libraries say."""

from __future__ import annotations

from rocmdoctor.diagnosis.recognition import error_text

NO_GPU = (
    "gpu_present.device cmdline.* amdgpu_module.* secure_boot.* dkms.* pcie_atomics.* kfd_node.* container.devices wsl.* "
    "permissions.* visibility_env.* hsa_override.valid mixed_gpu.* rocm_install.* ld_path.* rocminfo.* torch_build.rocm"
)
"""Everything that can hide a GPU from a program, from the bus up."""
NO_CODE = (
    "torch_arch.* gpu_support.release hsa_override.* rocm_install.build-targets mixed_gpu.* python.vllm triton.* "
    "rocm_side_by_side.* ld_path.*"
)
"""What leaves a GPU without code."""
LOADER = "rocm_install.* ld_path.* wsl.* triton.* packages.* rocm_side_by_side.* torch_build.* torch_rocm_match.* rocminfo.runs"
"""What keeps the loader from a library."""

RUNTIME_TEXTS = (
    error_text(
        "no-device",
        "no ROCm-capable device is detected",
        """
        no rocm-capable device is detected
        hiperrornodevice
        no hip gpus are available
        no cuda gpus are available
        hsa_init failed, possibly no supported gpu devices
        no supported gpu devices
        no compatible gpus were discovered
        no amd gpus detected
        """,
        "The run time started and was shown no GPU: none there, no driver, no permission, or a variable hides it.",
        NO_GPU,
        "This session sees the GPU. Compare its environment, user and container with those of the program that failed.",
    ),
    error_text(
        "hsa-resources",
        "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
        """
        hsa_status_error_out_of_resources
        hsa error code: 4104
        0x1008|
        """,
        "The run time could not set up the GPU: mostly /dev/kfd or a render node that cannot be opened, a limit, or GPUs "
        "of which only a part was passed into the container. It rarely means memory.",
        "permissions.* kfd_node.* container.* amdgpu_module.* wsl.* hsa_override.* mixed_gpu.* memlock_shm.* vram_gtt.* "
        "rocminfo.*",
        "Run rocminfo as the same user in the same container, and compare.",
    ),
    error_text(
        "hsa-isa",
        "HSA_STATUS_ERROR_INVALID_ISA",
        """
        hsa_status_error_invalid_isa
        the instruction set architecture is invalid
        hsa_status_error_invalid_code_object
        hsa_status_error_incompatible_arguments
        """,
        "Code of another gfx target was given to the GPU, or the run time does not know it.",
        NO_CODE,
        "Run with AMD_LOG_LEVEL=3 to see which library brings the code.",
    ),
    error_text(
        "hsa-generic",
        "HSA_STATUS_ERROR: a generic error has occurred",
        """
        hsa_status_error: a generic error
        a generic error has occurred
        hsa_status_error:
        """,
        "The run time gives no reason. One old card that it rejects, an override, or a wedged GPU does this.",
        "mixed_gpu.* hsa_override.* kfd_node.* container.* gpu_health.* vm.* rocm_side_by_side.* rocminfo.* torch_rocm_match.*",
        "Run rocminfo alone; the kernel log of that moment says more.",
    ),
    error_text(
        "no-binary",
        "hipErrorNoBinaryForGpu / invalid device function",
        """
        hiperrornobinaryforgpu
        unable to find code object for all current devices
        no kernel image is available for execution
        invalid device function
        hiperrorinvaliddevicefunction
        hiperrorinvalidimage
        device kernel image is invalid
        no compatible code objects found for
        """,
        "The program or library was built for other gfx targets than this GPU.",
        NO_CODE,
        "torch and the installed ROCm have code for the GPU here: another library does not. AMD_LOG_LEVEL=3 names it.",
    ),
    error_text(
        "tensile",
        "rocBLAS: cannot read TensileLibrary",
        """
        cannot read...tensilelibrary
        cannot find...tensilelibrary
        failed to load...tensilelibrary
        could not initialize tensile host
        tensilelibrary...no such file
        tensilelibrary...illegal seek
        no such file or directory for gpu arch
        """,
        "rocBLAS has no kernels for this GPU's target (or its library folder is not beside it).",
        "gpu_support.release torch_arch.* hsa_override.* ld_path.* rocm_install.* mixed_gpu.* rocm_side_by_side.*",
        "The rocBLAS that is installed here has the target: the program brings another one (ROCBLAS_TENSILE_LIBPATH, its "
        "own folder).",
    ),
    error_text(
        "hipblaslt",
        "hipBLASLt on an unsupported architecture",
        """
        attempting to use hipblaslt on a unsupported architecture
        attempting to use hipblaslt on an unsupported architecture
        hipblaslt...unsupported architecture
        """,
        "A notice: PyTorch goes on with hipBLAS. hipBLASLt is built for few targets.",
        "torch_arch.* hsa_override.*",
        "Nothing has to be done; TORCH_BLAS_PREFER_HIPBLASLT=0 silences it.",
    ),
    error_text(
        "memory-fault",
        "Memory access fault by GPU node",
        """
        memory access fault by gpu node
        memory access fault by gpu
        hsa_status_error_memory_aperture_violation
        hsa_status_error_memory_fault
        """,
        "A kernel touched memory that is not its own: code of another GPU (an override), a driver too old for the run "
        "time, or the program.",
        "hsa_override.* torch_arch.* torch_rocm_match.* iommu.* kernel.apu-pair gpu_health.* vram_gtt.* "
        "firmware.known-bad rocm_side_by_side.*",
        "Set-up and driver fit each other here. HIP_LAUNCH_BLOCKING=1 shows the kernel; then it is a bug report for that "
        "program.",
    ),
    error_text(
        "gpu-hang",
        "HW Exception by GPU node / GPU Hang",
        """
        hw exception by gpu node
        reason :gpu hang
        reason: gpu hang
        gpu hang
        hiperrorlaunchtimeout
        gpu core dump
        hip error: unspecified launch failure
        hiperrorlaunchfailure
        hsa_status_error_exception
        """,
        "The GPU stopped in the middle of a kernel. An override for a bigger GPU, kernel and firmware of an APU, or the "
        "program can be behind it.",
        "hsa_override.* kernel.apu-pair firmware.known-bad gpu_health.* torch_rocm_match.* torch_arch.* gpu_support.*",
        "Newer kernel and linux-firmware are the usual cure; note which program ran.",
    ),
    error_text(
        "out-of-memory",
        "HIP out of memory",
        """
        hiperroroutofmemory
        hip out of memory
        torch.outofmemoryerror
        cuda out of memory
        hiperrormemoryallocation
        hsa_status_error_out_of_memory
        """,
        "The GPU has less free memory than was asked for. On an APU it is bounded by settings, not by the RAM.",
        "vram_gtt.* kernel.apu-pair visibility_env.* mixed_gpu.*",
        "The GPU shows all of its memory: the model is too large for it, or another program holds a part (rocm-smi "
        "--showpids, amd-smi process).",
    ),
    error_text(
        "device-ordinal",
        "invalid device ordinal",
        """
        invalid device ordinal
        hiperrorinvaliddevice
        """,
        "The program asked for a GPU number that it cannot see: variables and containers count only what they leave.",
        "visibility_env.* container.* permissions.render-access mixed_gpu.* gpu_present.every-node",
        "Numbers count from 0 among the GPUs that the variables leave.",
    ),
    error_text(
        "library-missing",
        "A ROCm library cannot be opened",
        """
        libamdhip64.so...cannot open shared object file
        libhsa-runtime64.so...cannot open shared object file
        librocblas.so...cannot open shared object file
        libhipblas.so...cannot open shared object file
        libhipblaslt.so...cannot open shared object file
        libmiopen.so...cannot open shared object file
        libroctx64.so...cannot open shared object file
        librocm_smi64.so...cannot open shared object file
        librccl.so...cannot open shared object file
        libamd_comgr.so...cannot open shared object file
        librocprofiler-register.so...cannot open shared object file
        libhiprtc.so...cannot open shared object file
        libroctracer64.so...cannot open shared object file
        librocfft.so...cannot open shared object file
        librocsolver.so...cannot open shared object file
        librocsparse.so...cannot open shared object file
        librocrand.so...cannot open shared object file
        libamd_smi.so...cannot open shared object file
        libhsakmt.so...cannot open shared object file
        unable to load library...libamdhip64
        libamdhip64.so: undefined symbol
        """,
        "The loader does not find a library of ROCm: not installed, of another major number, or not on its path.",
        LOADER,
        "The libraries are there for this session. Compare the number in the name with the installed one, and "
        "LD_LIBRARY_PATH of the program.",
    ),
    error_text(
        "cuda-library-missing",
        "A CUDA library cannot be opened",
        """
        libcudart.so...cannot open shared object file
        libcuda.so...cannot open shared object file
        libcublas.so...cannot open shared object file
        libcublaslt.so...cannot open shared object file
        libcudnn.so...cannot open shared object file
        libnvidia-ml.so...cannot open shared object file
        libcusparse.so...cannot open shared object file
        libnccl.so...cannot open shared object file
        """,
        "Something was built for CUDA: no AMD GPU has this library, and installing it is no cure.",
        "torch_build.* python.* triton.*",
        "torch is the ROCm build here: look for the package in the traceback that is not.",
    ),
    error_text(
        "undefined-symbol",
        "undefined symbol",
        """
        undefined symbol: amdgpu_va_get_start_addr
        undefined symbol: amdgpu_
        undefined symbol: hsa_
        undefined symbol: hip
        undefined symbol: roc
        undefined symbol: rsmi_
        undefined symbol: _zn
        symbol lookup error...rocm
        version `amdgpu_
        ' not found (required by /opt/rocm
        """,
        "A library of another release is picked: an older libdrm, another ROCm on LD_LIBRARY_PATH, or packages of two releases.",
        "ld_path.* packages.* rocm_side_by_side.* rocm_install.* triton.* torch_build.companions rocminfo.runs",
        "`LD_DEBUG=libs` of the program shows which file was taken.",
    ),
    error_text(
        "collectives",
        "NCCL/RCCL fails or hangs",
        """
        nccl warn
        rccl warn
        watchdog caught collective operation timeout
        ncclsystemerror
        ncclunhandledcudaerror
        nccl...unhandled system error
        ncclinternalerror
        nccl error in
        rccl error
        missing iommu=pt
        """,
        "The exchange between GPUs failed: an IOMMU in translated mode, too little /dev/shm, a memory limit, or GPUs that "
        "differ.",
        "iommu.* memlock_shm.* container.* numa.* mixed_gpu.* gpu_health.* permissions.*",
        "NCCL_DEBUG=INFO shows the step; NCCL_P2P_DISABLE=1 tells whether the direct path is at fault.",
    ),
    error_text(
        "wsl",
        "ROCm in WSL",
        """
        wsl environment detected
        librocdxg
        rocr4wsl
        /dev/dxg
        libdxcore.so
        dxcore...fail
        """,
        "In WSL the GPU is reached through DirectX (/dev/dxg); the run time must be one that knows that way.",
        "wsl.* rocm_install.* torch_build.* rocminfo.runs ld_path.*",
        "Update the Windows driver, then `wsl --shutdown`.",
    ),
)
