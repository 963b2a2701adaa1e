"""The error texts that are known, from the kernel up. Knowledge of texts alone: no releases, no products, no addresses."""

from __future__ import annotations

from rocmdoctor.diagnosis.texts_build import BUILD_TEXTS
from rocmdoctor.diagnosis.texts_driver import DRIVER_TEXTS
from rocmdoctor.diagnosis.texts_install import INSTALL_TEXTS
from rocmdoctor.diagnosis.texts_python import PYTHON_TEXTS
from rocmdoctor.diagnosis.texts_runtime import RUNTIME_TEXTS

ERROR_TEXTS = (*DRIVER_TEXTS, *RUNTIME_TEXTS, *BUILD_TEXTS, *INSTALL_TEXTS, *PYTHON_TEXTS)
