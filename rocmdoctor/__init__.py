"""rocmdoctor: a ROCm environment doctor and installer for Linux machines with AMD GPUs."""

__version__ = "0.1.0"
