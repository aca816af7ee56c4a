// How fast a plain loop copies runs of bytes that are apart in the source, beside memcpy of as many bytes: what a
// repack in the cache that moves such runs can be compared with. It is no limit: better loops are faster.
//
//     cc -O2 -march=native -o cache_runs benchmarks/cache_runs.c && ./cache_runs
//
// The target is written in order, in vectors of 64 bytes; runs are read at a distance of about the square root of their
// number. The least time of 60 turns.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef char Vector __attribute__((vector_size(64), aligned(1)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void copy_runs(char *to, const char *from, const long *places, long count, long run) {
    for (long i = 0; i < count; ++i)
        for (long k = 0; k < run; k += 64) *(Vector *)(to + i * run + k) = *(const Vector *)(from + places[i] + k);
}

int main(void) {
    printf("%8s %6s %10s %12s\n", "KiB", "run", "of memcpy", "memcpy GB/s");
    for (long size = 256 << 10; size <= 2 << 20; size *= 2)
        for (long run = 64; run <= 4096; run *= 2) {
            const long count = size / run;
            long *places = malloc(count * sizeof(long)), rows = 1;
            while (rows * rows < count) rows *= 2;
            // One run more, so that no power of 2 is between rows.
            const long apart = (count / rows + 1) * run;
            char *from = aligned_alloc(64, size + rows * run), *to = aligned_alloc(4096, size);
            for (long i = 0; i < count; ++i) places[i] = i % rows * apart + i / rows * run;
            memset(from, 1, size + rows * run);
            memset(to, 2, size);
            double runs = 1e18, flat = 1e18;
            for (int turn = 0; turn < 60; ++turn) {
                const double start = now();
                copy_runs(to, from, places, count, run);
                const double middle = now();
                if (middle - start < runs) runs = middle - start;
            }
            for (int turn = 0; turn < 60; ++turn) {
                const double start = now();
                memcpy(to, from, size);
                const double end = now();
                if (end - start < flat) flat = end - start;
            }
            printf("%8ld %6ld %10.2f %12.0f\n", size >> 10, run, flat / runs, 2 * size / flat);
            free(places);
            free(from);
            free(to);
        }
}
