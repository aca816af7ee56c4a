"""A text that is both: OpenCL C with the kernels, and for a C compiler the host program that builds and runs them."""

from __future__ import annotations

from .c import c_function
from .c_lines import CLines
from .checksums import WEIGHT
from .lower import sample_routine
from .program import CheckedSize, PackFunction

HOST = f"""#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int error, const char *what) {{
  if (error) {{
    fprintf(stderr, "%s: OpenCL error %d\\n", what, (int)error);
    exit(2);
  }}
}}

// This file is the program.
static void build(void) {{
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL), "platforms");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
        "devices");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "context");
  queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "queue");
  FILE *file = fopen(__FILE__, "rb");
  if (!file)
    abort();
  fseek(file, 0, SEEK_END);
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(length + 1);
  if (!text || fread(text, 1, length, file) != length)
    abort();
  fclose(file);
  program = clCreateProgramWithSource(context, 1, (const char **)&text, &length,
                                      &error);
  check(error, "program");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
  free(text);
}}

// Whether a run writes what it should: 0 if it does.
static int run(const char *name, uint8_t (*sample)(int64_t), size_t src_bytes,
               size_t dst_bytes, uint64_t expected, int count,
               const cl_long *sizes, int refuses) {{
  cl_int error;
  uint64_t sum = 0;
  uint8_t *bytes = malloc((src_bytes > dst_bytes ? src_bytes : dst_bytes) + 1);
  if (!bytes)
    abort();
  for (size_t i = 0; i < src_bytes; ++i)
    bytes[i] = sample((int64_t)i);
  cl_mem src =
      clCreateBuffer(context, CL_MEM_READ_ONLY, src_bytes + 1, NULL, &error);
  check(error, "src");
  cl_mem dst =
      clCreateBuffer(context, CL_MEM_READ_WRITE, dst_bytes + 1, NULL, &error);
  check(error, "dst");
  check(clEnqueueWriteBuffer(queue, src, CL_TRUE, 0, src_bytes + 1, bytes, 0,
                             NULL, NULL),
        "write");
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  check(clSetKernelArg(kernel, 0, sizeof(src), &src), "src");
  check(clSetKernelArg(kernel, 1, sizeof(dst), &dst), "dst");
  for (int k = 0; k < count; ++k)
    check(clSetKernelArg(kernel, 2 + k, sizeof(*sizes), sizes + k), "size");
  cl_int flag = 0;
  cl_mem refused =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                     sizeof(flag), &flag, &error);
  check(error, "refused");
  if (refuses)
    check(clSetKernelArg(kernel, 2 + count, sizeof(refused), &refused),
          "refused");
  const size_t group = 64, items = (dst_bytes / 4 / group + 1) * group;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL,
                               NULL),
        "launch");
  check(clEnqueueReadBuffer(queue, dst, CL_TRUE, 0, dst_bytes + 1, bytes, 0,
                            NULL, NULL),
        "read");
  check(clEnqueueReadBuffer(queue, refused, CL_TRUE, 0, sizeof(flag), &flag, 0,
                            NULL, NULL),
        "read");
  for (size_t i = 0; i < dst_bytes; ++i)
    sum += bytes[i] * ((uint64_t)i * 0x{WEIGHT:x}u >> 32 | 1);
  clReleaseKernel(kernel);
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  clReleaseMemObject(refused);
  free(bytes);
  return flag || sum != expected;
}}
"""


def write_program(
    kernels: str, functions: list[PackFunction], runs: list[list[CheckedSize]], refuses: list[bool]
) -> str:
    """The kernels for OpenCL, and the host program for everybody else."""
    body = CLines()
    body.add(0, "int main(void) {")
    body.add(1, "int failed = 0;")
    body.add(1, "build();")
    for function, own, flagged in zip(functions, runs, refuses):
        for run in own:
            sizes = f"(cl_long[]){{{', '.join(map(str, run.sizes))}}}" if run.sizes else "NULL"
            numbers = [
                f'"{function.name}"',
                f"{function.name}_sample",
                str(run.source),
                str(run.target),
                f"{run.checksum}u",
            ]
            body.add(1, f"failed |= run({', '.join([*numbers, str(len(run.sizes)), sizes, str(int(flagged))])});")
    body.add(1, 'puts(failed ? "wrong" : "ok");')
    body.add(1, "return failed;")
    body.add(0, "}")
    main = "\n".join(body.lines)
    samples = "\n\n".join([c_function(sample_routine(function)) for function in functions])
    comment = "// A C compiler makes of this file its own test."
    return f"#ifdef __OPENCL_VERSION__\n{kernels}\n#else {comment}\n{HOST}\n{samples}\n\n{main}\n#endif\n"
