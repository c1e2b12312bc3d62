// A CUDA client that prints what it gets from the driver, step by step: so that a step that hangs is the next one.
//
//   client probe            attach, run a kernel, allocate page-locked memory
//   client hold SECONDS     probe, then stay attached
//   client allocate MIB     probe, then allocate 64 MiB at a time, up to MIB
//   client loop SECONDS     probe, then run short kernels and check each result; SIGTERM ends the loop
//   client late SECONDS     probe, wait, then run short kernels for a second
//   client spin SECONDS     probe, then run one kernel that occupies its multiprocessors
//   client leave SECONDS    the same, but exit while the kernel runs
//   client fault SECONDS    probe, then run a kernel that writes to an address that is not mapped
//
// Examples, as root on a GPU without other users:
//
//   nvcc -std=c++17 -O1 -o client bench/gpu/client.cu -lcuda
//   export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps/pipe CUDA_MPS_LOG_DIRECTORY=/tmp/mps/log
//   mkdir -p $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY && nvidia-cuda-mps-control -d
//   echo "set_default_device_pinned_mem_limit 0 8192M" | nvidia-cuda-mps-control
//   timeout 20 ./client probe
//   unshare --mount sh -c 'mount -t tmpfs none /dev/shm && timeout 20 ./client allocate 1024'
//   setpriv --reuid 1000 --regid 1000 --clear-groups ./client hold 15 &
//   CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=4G ./client allocate 12288
//   ./client loop 6 & ./client spin 20 & sleep 2; kill -9 $!
#include <cuda.h>
#include <cuda_runtime.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

static double seconds() {
    static const auto start = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static void check(const char* step, CUresult result) {
    if (result != CUDA_SUCCESS) {
        const char *name = "unknown", *text = "";
        cuGetErrorName(result, &name);
        cuGetErrorString(result, &text);
        printf(" | %s FAILED %s (%d) \"%s\" after %.2f s\n", step, name, result, text, seconds());
        exit(1);
    }
}

static void check(const char* step, cudaError_t error) { check(step, static_cast<CUresult>(error)); }

__global__ void spin(unsigned long long nanoseconds, int* out) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(out, 1);
}

static int attribute(CUdevice device, int which) {
    int value = -1;
    if (cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), device) != CUDA_SUCCESS) return -1;
    return value;
}

static void allocate(size_t mebibytes) {
    for (size_t done = 0; done < mebibytes; done += 64) {
        CUdeviceptr block;
        CUresult result = cuMemAlloc(&block, 64 << 20);
        if (result != CUDA_SUCCESS) printf(" | allocated %zu MiB", done);
        check("cuMemAlloc", result);
    }
    printf(" | allocated %zu MiB without an error", mebibytes);
}

static volatile sig_atomic_t ended = 0;
static void end_loop(int) { ended = 1; }

static void loop(int* device_value, double length, int multiprocessors) {
    double end = seconds() + length, longest = 0;
    int count = 0;
    signal(SIGTERM, end_loop);
    printf(" | started");
    while (!ended && seconds() < end) {
        double before = seconds();
        int value = 0;
        check("memset", cudaMemset(device_value, 0, sizeof(int)));
        spin<<<multiprocessors, 128>>>(1000000, device_value);
        check("launch", cudaGetLastError());
        cudaError_t error = cudaMemcpy(&value, device_value, sizeof(int), cudaMemcpyDeviceToHost);
        if (error != cudaSuccess) printf(" | %d kernels", count);
        check("kernel", error);
        if (value != 1) printf(" | WRONG RESULT %d", value);
        longest = seconds() - before > longest ? seconds() - before : longest;
        ++count;
    }
    printf(" | %d kernels, longest %.3f s", count, longest);
}

int main(int count, char** arguments) {
    const std::string mode = count > 1 ? arguments[1] : "probe";
    const double amount = count > 2 ? atof(arguments[2]) : 0;
    setvbuf(stdout, nullptr, _IONBF, 0);
    seconds();
    printf("pid %d uid %d", getpid(), getuid());
    check("cuInit", cuInit(0));
    printf(" | cuInit %.2f s", seconds());
    CUdevice device;
    check("cuDeviceGet", cuDeviceGet(&device, 0));
    CUcontext context;
    check("context", cuDevicePrimaryCtxRetain(&context, device));
    check("context", cuCtxSetCurrent(context));
    const int multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    size_t free = 0, total = 0;
    check("cuMemGetInfo", cuMemGetInfo(&free, &total));
    printf(" | context %.2f s, MPS %d, SMs %d, total %zu MiB, free %zu MiB", seconds(), attribute(device, 133),
           multiprocessors, total >> 20, free >> 20);
    int *value, *pinned;
    check("cudaMalloc", cudaMalloc(&value, sizeof(int)));
    check("cudaMallocHost", cudaMallocHost(&pinned, 64 << 20));
    spin<<<1, 1>>>(1000, value);
    check("launch", cudaGetLastError());
    check("kernel", cudaDeviceSynchronize());
    printf(" | kernel ok %.2f s", seconds());
    if (mode == "hold") usleep(static_cast<useconds_t>(amount * 1e6));
    if (mode == "allocate") allocate(static_cast<size_t>(amount));
    if (mode == "loop") loop(value, amount, multiprocessors);
    if (mode == "late") {
        usleep(static_cast<useconds_t>(amount * 1e6));
        loop(value, 1, multiprocessors);
    }
    if (mode == "spin" || mode == "leave" || mode == "fault") {
        spin<<<multiprocessors * 4, 256>>>(static_cast<unsigned long long>(amount * 1e9),
                                           mode == "fault" ? reinterpret_cast<int*>(8) : value);
        printf(" | started");
        if (mode == "leave") { usleep(1000000); _exit(0); }
        check("kernel", cudaDeviceSynchronize());
    }
    printf(" | done %.2f s\n", seconds());
}
