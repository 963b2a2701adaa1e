from __future__ import annotations

from rocmdoctor.host.environment import relevant


def test_what_matters_is_kept_and_secrets_are_not() -> None:
    env = {
        "PATH": "/bin",
        "HSA_OVERRIDE_GFX_VERSION": "",
        "ROCR_VISIBLE_DEVICES": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "https_proxy": "http://p:1",
        "NO_PROXY": "*",
        "PIP_INDEX_URL": "https://u:p@x/",
        "container": "podman",
        "SLURM_JOB_ID": "7",
    }
    others = {
        "AWS_SECRET_ACCESS_KEY": "x",
        "EDITOR": "vi",
        "UV_PUBLISH_TOKEN": "x",
        "PIP_PASSWORD": "x",
        "HF_TOKEN": "x",
        "SSH_AUTH_SOCK": "x",
    }
    assert relevant({**env, **others}) == env
