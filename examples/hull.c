/* The convex hull of points (float32, x and y by turns) by one kernel of clgeom, without Python.
 *
 *     clgeom kernels show tile_hull > tile_hull.cl
 *     cc -o hull hull.c -lOpenCL
 *     ./hull tile_hull.cl points.f32          # rows of the vertices, counter-clockwise
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 2048, HEADER = 4, LIST = 0, HULL = 1, SLOTS = 64, FIRST = 8 };    /* of the kernel's parameters */
typedef struct { float x, y; cl_uint id; } vertex_t;

static void require(int is_good, const char *what) { if (!is_good) { fprintf(stderr, "hull: %s\n", what); exit(1); } }

static char *read_file(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    require(file != NULL && fseek(file, 0, SEEK_END) == 0, "a file cannot be read");
    *size = ftell(file);
    rewind(file);
    char *text = calloc(*size + 1, 1);
    require(text != NULL && fread(text, 1, *size, file) == *size, "a file cannot be read");
    return text;
}

int main(int argc, char **argv)
{
    require(argc == 3, "usage: hull tile_hull.cl points.f32");
    size_t length, nbytes, one = 1;
    const char *source = read_file(argv[1], &length);
    char options[1024] = "", *points = read_file(argv[2], &nbytes);
    require(strstr(source, " header=4,") && strstr(source, " items_per_thread=2048,") && strstr(source, " real='float',"),
            "the kernel must be tile_hull for float, with tiles of 2,048 points");
    sscanf(strstr(source, "// build options: "), "// build options: %1023[^\n]", options);
    require(nbytes % 8 == 0 && nbytes / 8 <= 0x7fffffff, "the points must be pairs of float, fewer than 2^31");
    cl_uint n = nbytes / 8, count = n, in = 0, out = FIRST, stride = 1, sizes[SLOTS] = {0};
    require(n > 0, "there are no points");

    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    require(!clGetPlatformIDs(1, &platform, NULL) && !clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "no device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &error);
    require(!clBuildProgram(program, 1, &device, options, NULL, NULL), "the kernel does not compile");
    cl_kernel kernel = clCreateKernel(program, "tile_hull", &error);
    cl_mem xy = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, nbytes, points, &error), lists[2];
    cl_mem lengths = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof sizes, sizes, &error);
    for (int k = 0; k < 2; ++k)
        lists[k] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint) * n, NULL, &error);
    static vertex_t hull[HEADER + 2 * TILE];
    cl_mem found = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof hull, NULL, &error);

    for (cl_uint result = LIST, last = 0; ; last = count, in = out++, stride = 0) {     /* hulls of hulls, then the hull */
        if (!stride && count <= TILE)
            result = HULL;
        require(stride || result == HULL || (count < last || last == 0), "the hulls of tiles leave more than 2,048 points");
        const cl_mem memory[] = {xy, lists[in % 2], lengths, lengths, result == HULL ? found : lists[out % 2]};
        const cl_uint numbers[] = {stride, in, n, result, out, n};
        const int memory_at[] = {0, 1, 5, 9, 10}, number_at[] = {2, 3, 4, 6, 7, 8};
        for (int k = 0; k < 5; ++k)
            error |= clSetKernelArg(kernel, memory_at[k], sizeof(cl_mem), &memory[k]);
        for (int k = 0; k < 6; ++k)
            error |= clSetKernelArg(kernel, number_at[k], sizeof(cl_uint), &numbers[k]);
        require(!error, "an argument is wrong");
        const size_t groups = result == HULL ? 1 : (count + TILE - 1) / TILE;
        require(!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &groups, &one, 0, NULL, NULL), "the kernel does not start");
        if (result == HULL)
            break;
        require(!clEnqueueReadBuffer(queue, lengths, CL_TRUE, 0, sizeof sizes, sizes, 0, NULL, NULL), "the kernel failed");
        count = sizes[out];
    }
    require(!clEnqueueReadBuffer(queue, found, CL_TRUE, 0, sizeof hull, hull, 0, NULL, NULL), "the kernel failed");
    require(hull[2].id == 0, "a point is not finite");
    for (cl_uint k = 0; k < hull[0].id; ++k)                                            /* the lower hood, from left to right */
        printf("%u\n", hull[HEADER + 2 * k].id);
    for (cl_uint k = hull[1].id - 1; k-- > 1;)                                          /* the upper one, back */
        printf("%u\n", hull[HEADER + 2 * k + 1].id);
    return 0;
}
