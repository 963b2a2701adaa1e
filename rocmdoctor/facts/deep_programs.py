"""The two programs of the deep checks, as text: constant, small, and reporting each step before and after they take it.

Both write lines of MARK and a JSON object to standard output, flushed, so that a hang or a crash shows the last step.
"""

from __future__ import annotations

MARK = "@rocmdoctor "

TORCH = """
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]  # with -c this is the working folder, which no program of the user has
import faulthandler, json, os, time

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever else is printed goes to standard error
faulthandler.enable(out, all_threads=False)  # where it crashed ...
faulthandler.dump_traceback_later(80, file=out)  # ... or hangs, shortly before the time is over
os.environ["PYTORCH_TUNABLEOP_ENABLED"] = "0"  # it would leave a file
os.environ["AMD_COMGR_CACHE"] = "0"

def say(stage, state, **more):
    out.write("\\n@rocmdoctor " + json.dumps(dict(more, stage=stage, state=state)) + "\\n")
    out.flush()

def take(stage, work, **more):
    say(stage, "begun", **more)
    try:
        found = work()
    except BaseException as error:
        say(stage, "failed", kind=type(error).__name__, text=str(error)[:4000], **more)
        return None
    say(stage, "done", **dict(more, **found))
    return found

def load():
    global torch
    import torch
    return {"version": str(torch.__version__), "hip": str(getattr(torch.version, "hip", None) or "")}

def count():
    return {"available": bool(torch.cuda.is_available()), "count": int(torch.cuda.device_count())}

def begin():
    torch.cuda.init()  # unlike is_available() it says why there is none
    return {}

def describe(index):
    found = torch.cuda.get_device_properties(index)
    return {"name": str(found.name), "gfx": str(getattr(found, "gcnArchName", ""))}

def multiply(index, dtype):
    source = torch.Generator().manual_seed(index)
    a, b = [torch.randn(256, 256, generator=source).to(getattr(torch, dtype)) for _ in range(2)]
    right = a.double() @ b.double()
    gpu = "cuda:%d" % index
    got = (a.to(gpu) @ b.to(gpu)).cpu().double()
    return {"error": float(((got - right).abs().max() / right.abs().max()).item())}

say("python", "done", version=sys.version.split()[0])
seen = take("count", count) if take("import", load) else None
if seen and not seen["available"]:
    take("init", begin)
if seen and seen["available"]:
    for index in range(seen["count"]):
        take("device", lambda: describe(index), device=index)
    start = time.time()
    for index in range(seen["count"]):
        if time.time() - start > 30:
            say("compute", "left", device=index)  # a machine with very many GPUs
            break
        for dtype in ("float32", "float16"):
            take("compute", lambda: multiply(index, dtype), device=index, dtype=dtype)
say("end", "done")
"""
"""For `python -B -c`, Python 3.6 and later. Stages: python, import, count, init (when no GPU is available), device, compute, end.

`error` of compute is the largest deviation from the CPU's product in double precision, in parts of its largest value.
"""

VECTOR_ADD = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

static void say(const char* stage, const char* state, int device, const char* more) {
  std::printf("\n@rocmdoctor {\"stage\": \"%s\", \"state\": \"%s\", \"device\": %d%s}\n", stage, state, device, more);
  std::fflush(stdout);
}

static bool works(const char* stage, int device, const char* call, hipError_t result) {
  if (result == hipSuccess) return true;
  char more[400];
  std::snprintf(more, sizeof more, ", \"kind\": \"%s\", \"text\": \"%s\"", hipGetErrorName(result), call);
  say(stage, "failed", device, more);
  return false;
}

static void compute(int device) {
  const int n = 1 << 16;
  const size_t bytes = n * sizeof(float);
  std::vector<float> a(n), b(n), c(n, -1.0f);
  for (int i = 0; i < n; ++i) { a[i] = i % 1000; b[i] = 2 * (i % 777); }
  char more[400];
  hipDeviceProp_t found;
  say("device", "begun", device, "");
  if (!works("device", device, "hipGetDeviceProperties", hipGetDeviceProperties(&found, device))) return;
  std::snprintf(more, sizeof more, ", \"gfx\": \"%.60s\"", found.gcnArchName);
  say("device", "done", device, more);
  say("compute", "begun", device, "");
  float *x = nullptr, *y = nullptr, *z = nullptr;
  if (!works("compute", device, "hipSetDevice", hipSetDevice(device)) ||
      !works("compute", device, "hipMalloc", hipMalloc((void**)&x, bytes)) ||
      !works("compute", device, "hipMalloc", hipMalloc((void**)&y, bytes)) ||
      !works("compute", device, "hipMalloc", hipMalloc((void**)&z, bytes)) ||
      !works("compute", device, "hipMemcpy", hipMemcpy(x, a.data(), bytes, hipMemcpyHostToDevice)) ||
      !works("compute", device, "hipMemcpy", hipMemcpy(y, b.data(), bytes, hipMemcpyHostToDevice)))
    return;
  hipLaunchKernelGGL(add, dim3(n / 256), dim3(256), 0, 0, x, y, z, n);
  if (!works("compute", device, "the kernel's launch", hipGetLastError()) ||
      !works("compute", device, "hipDeviceSynchronize", hipDeviceSynchronize()) ||
      !works("compute", device, "hipMemcpy", hipMemcpy(c.data(), z, bytes, hipMemcpyDeviceToHost)))
    return;
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != a[i] + b[i];
  std::snprintf(more, sizeof more, ", \"error\": %g", (double)wrong / n);
  say("compute", "done", device, more);
}

int main() {
  int count = 0;
  char more[60];
  say("count", "begun", 0, "");
  if (works("count", 0, "hipGetDeviceCount", hipGetDeviceCount(&count))) {
    std::snprintf(more, sizeof more, ", \"count\": %d", count);
    say("count", "done", 0, more);
    for (int device = 0; device < count; ++device) compute(device);
  }
  say("end", "done", 0, "");
  return 0;
}
"""
"""For hipcc of ROCm 3.5 and later. Stages: count, device, compute, end. `error` of compute is the share of wrong sums."""
