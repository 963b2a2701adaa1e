"""What the kernel, the driver and KFD say, and what rocminfo says of them."""

from __future__ import annotations

from rocmdoctor.diagnosis.recognition import error_text

DRIVER_TEXTS = (
    error_text(
        "rock-not-loaded",
        "ROCk module is NOT loaded",
        """
        rock module is not loaded
        rock module is not live
        """,
        "rocminfo finds no amdgpu driver with KFD in it: /sys/module/amdgpu is missing, or it was loaded and did not start.",
        "amdgpu_module.* secure_boot.* dkms.* cmdline.* packages.modules-extra firmware.loaded kernel.knows-gpu "
        "kfd_node.present wsl.* container.devices gpu_present.device",
        "In WSL the line is normal: there is no amdgpu by design. Elsewhere look at `dmesg | grep -i amdgpu`.",
    ),
    error_text(
        "kfd-missing",
        "/dev/kfd does not exist",
        """
        unable to open /dev/kfd read-write: no such file
        /dev/kfd: no such file
        /dev/kfd' does not exist
        /dev/kfd does not exist
        cannot access '/dev/kfd'
        gathering device information while adding custom device "/dev/kfd"
        /dev/kfd": no such file
        """,
        "The driver offers no compute device: it is not loaded, KFD refused the GPU, or the node was not passed into the "
        "container.",
        "kfd_node.present container.devices wsl.* amdgpu_module.* secure_boot.* dkms.* pcie_atomics.* kernel.knows-gpu "
        "firmware.loaded cmdline.* gpu_present.device",
        "Compare `ls -l /dev/kfd` on the host and in the container.",
    ),
    error_text(
        "kfd-permission",
        "/dev/kfd or a render node: permission denied",
        """
        unable to open /dev/kfd read-write: permission denied
        /dev/kfd: permission denied
        permission denied: '/dev/kfd'
        open /dev/kfd: permission denied
        not a member of "render" group
        not member of "render" group
        not in render group
        not a member of "video" group
        /dev/dri/renderd...permission denied
        could not open /dev/kfd...permission denied
        failed to open /dev/kfd...permission denied
        renderd...failed to open...permission denied
        """,
        "The process may not open the node read-write. Its groups, the node's owner and mode, or a container's id mapping "
        "decide.",
        "permissions.* host_groups.* container.* kfd_node.opens",
        "Access is in order for the user that was judged here. Ask for the one that saw the error: --user NAME; after "
        "usermod, log in again.",
    ),
    error_text(
        "kfd-cat",
        "cat: /dev/kfd: Invalid argument",
        """
        cat: /dev/kfd: invalid argument
        """,
        "Healthy hosts answer so: /dev/kfd can be opened, not read. The line proves nothing.",
        "kfd_node.* permissions.kfd-access",
        "Nothing is wrong with /dev/kfd.",
    ),
    error_text(
        "kfd-open",
        "/dev/kfd does not open (neither missing nor forbidden)",
        """
        unable to open /dev/kfd read-write: invalid argument
        unable to open /dev/kfd read-write: cannot allocate
        unable to open /dev/kfd read-write: operation not permitted
        unable to open /dev/kfd read-write: no such device
        unable to open /dev/kfd read-write: bad address
        open /dev/kfd: operation not permitted
        """,
        "Not the mode of the node: a device cgroup (EPERM), a user namespace, or the driver itself refuses (EINVAL, "
        "ENOMEM, ENXIO).",
        "kfd_node.opens container.* permissions.kfd-access gpu_health.* dkms.*",
        "Look at the kernel log of the moment in which the program was started.",
    ),
    error_text(
        "key-rejected",
        "Key was rejected by service",
        """
        key was rejected by service
        required key not available
        loading of unsigned module is rejected
        loading of module with unavailable key is rejected
        """,
        "Secure Boot is on, and the kernel refuses a module whose key is not enrolled.",
        "secure_boot.* dkms.* amdgpu_module.*",
        "Secure Boot accepts the module now; enrolling a key takes effect at the next boot.",
    ),
    error_text(
        "module-taint",
        "module verification failed ... tainting kernel",
        """
        module verification failed: signature and/or required key missing
        """,
        "A notice, not a refusal: a module without a known signature was loaded, and the kernel says so.",
        "secure_boot.* amdgpu_module.loaded",
        "Nothing has to be done as long as the driver is loaded.",
    ),
    error_text(
        "module-not-found",
        "Module amdgpu not found",
        """
        module amdgpu not found in directory
        fatal: module amdgpu not found
        could not insert 'amdgpu'
        """,
        "The running kernel has no amdgpu module that loads: not built by DKMS, or its package of extra modules is not "
        "installed.",
        "dkms.* packages.modules-extra amdgpu_module.* secure_boot.* kernel.knows-gpu packages.configured",
        "Compare `uname -r` with the folders in /lib/modules.",
    ),
    error_text(
        "unknown-symbol",
        "amdgpu: Unknown symbol / disagrees about version of symbol",
        """
        amdgpu: unknown symbol
        amdgpu: disagrees about version of symbol
        amdttm: unknown symbol
        amdkcl: unknown symbol
        unknown symbol in module
        """,
        "The module was built for another kernel, or modules that it needs are not installed.",
        "dkms.* packages.modules-extra amdgpu_module.*",
        "Rebuild the module for the running kernel.",
    ),
    error_text(
        "dkms-build",
        "DKMS: bad exit status",
        """
        error! bad return status for module build
        bad exit status:
        consult /var/lib/dkms/amdgpu
        error! the /var/lib/dkms
        error! your kernel headers for kernel
        consult the make.log
        building module...amdgpu...failed
        installed amdgpu-dkms package post-installation script subprocess returned error
        """,
        "The driver's module did not build for a kernel: its headers are missing, or the kernel is newer than the driver knows.",
        "dkms.* packages.configured disk.* amdgpu_module.*",
        "Read the first error in make.log below /var/lib/dkms/amdgpu.",
    ),
    error_text(
        "atomics",
        "PCI rejects atomics",
        """
        pci rejects atomics
        pcie atomic ops is not supported
        """,
        "The PCIe path between CPU and GPU does not carry atomic operations, and this GPU (or its firmware) needs them "
        "for compute.",
        "pcie_atomics.* vm.* gpu_present.device",
        "The GPU serves graphics all the same. Another slot, directly at the CPU, is the usual cure.",
    ),
    error_text(
        "kfd-skipped",
        "kfd: skipped device",
        """
        skipped device 1002:
        kfd: skipped device
        """,
        "KFD looked at the GPU and left it out; the words behind the id say why.",
        "pcie_atomics.* kfd_node.present kernel.knows-gpu gpu_support.*",
    ),
    error_text(
        "smi-no-device",
        "The management tools find no GPU",
        """
        unable to detect any gpu devices
        no amd gpus specified
        amdgpu driver not loaded
        driver not initialized (amdgpu not found in modules)
        """,
        "amd-smi and rocm-smi read sysfs: amdgpu holds no GPU there. They say nothing of the right to compute.",
        "amdgpu_module.* firmware.loaded pci_bar.* kernel.knows-gpu secure_boot.* dkms.* cmdline.* packages.modules-extra "
        "wsl.* container.devices gpu_present.device",
        "The driver holds the GPU now: run the tool again.",
    ),
    error_text(
        "firmware",
        "Firmware of amdgpu not found",
        """
        direct firmware load for amdgpu/
        failed to load firmware "amdgpu/
        failed to load gpu_info firmware
        possible missing firmware /lib/firmware/amdgpu
        firmware: failed to load amdgpu/
        """,
        "The driver asks for a file in /lib/firmware/amdgpu that is not there. Fatal only when the GPU was not "
        "initialised after it.",
        "firmware.* amdgpu_module.bound kernel.knows-gpu gpu_health.*",
        "Single optional files that are missing are noise on a GPU that works.",
    ),
    error_text(
        "gpu-init",
        "amdgpu gave the GPU up: fatal error during GPU init",
        """
        fatal error during gpu init
        amdgpu_device_ip_init failed
        amdgpu: probe of...failed with error
        """,
        "The driver was loaded, and its probe of this device failed: firmware that is missing, a memory window without an "
        "address, a kernel that is too old for the GPU, or a card in a bad state. The lines before this one say which.",
        "firmware.* pci_bar.* kernel.knows-gpu amdgpu_module.* gpu_health.* dkms.* packages.modules-extra",
        "Read the kernel log from the first amdgpu line on (`journalctl -k -b -g amdgpu`).",
    ),
    error_text(
        "probe-failed",
        "amdgpu: probe failed",
        """
        amdgpu: probe of...failed with error
        probe of...amdgpu...failed with error
        amdgpu_device_ip_init failed
        amdgpu_init failed
        """,
        "The driver was loaded and gave the GPU up while it started: firmware, memory window, power state or an unknown GPU.",
        "firmware.* pci_bar.* kernel.knows-gpu amdgpu_module.bound gpu_health.* vm.*",
        "Read the lines before it: the first *ERROR* names the part that failed.",
    ),
    error_text(
        "bar",
        "BAR 0: no space for",
        """
        no space for [mem size
        bar 0: can't assign
        bar 0: failed to assign
        not enough pci address space for a large bar
        failed to resize bar
        """,
        "The board's firmware left no room for the GPU's memory window.",
        "pci_bar.* amdgpu_module.bound",
        "A small window of 256 MiB works as well; only none at all does not.",
    ),
    error_text(
        "ring-timeout",
        "amdgpu: ring ... timeout",
        """
        amdgpu: ring...timeout
        *error* ring...timeout
        ring gfx...timeout
        ring comp...timeout
        ring sdma...timeout
        ring vcn...timeout
        amdgpu_job_timedout
        """,
        "A queue of the GPU stopped, and the driver resets it. The program, an override, firmware or kernel can be behind it.",
        "hsa_override.* gpu_health.* kernel.apu-pair firmware.known-bad torch_rocm_match.* mixed_gpu.*",
        "The log of this boot shows none here. Note which program ran; newer kernel and linux-firmware are the usual cure.",
    ),
    error_text(
        "mes",
        "MES failed to respond",
        """
        mes failed to respond
        mes ring buffer is full
        mes might be in unrecoverable state
        failed to remove hardware queue from mes
        """,
        "The GPU's scheduler (MES) stopped answering; a power cycle brings it back, newer firmware keeps it.",
        "gpu_health.responding hsa_override.* firmware.known-bad kernel.apu-pair gpu_health.*",
        "The log of this boot shows none here.",
    ),
    error_text(
        "page-fault",
        "GPU page fault in the kernel log",
        """
        l2_protection_fault_status
        [gfxhub...page fault
        [mmhub...page fault
        """,
        "A program touched memory that the GPU does not map, or kernels of another GPU run on this one.",
        "hsa_override.* torch_arch.* torch_rocm_match.* gpu_health.*",
        "Often a fault of the program. Note which one, and try it on one GPU.",
    ),
    error_text(
        "ras",
        "Uncorrectable hardware error",
        """
        uncorrectable hardware error
        fell off the bus
        device lost from bus
        pcie bus error: severity=uncorrected
        pcie bus error: severity=fatal
        """,
        "The card, its slot or its power supply fails.",
        "gpu_health.*",
        "The log of this boot shows none here.",
    ),
)
