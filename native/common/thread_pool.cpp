#include "common/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace relayout {
namespace {

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("yield");
#endif
}

// Waking a sleeping thread takes 25 to 30 microseconds here (benchmarks/repack.py --threads 2, 1 MiB), so a wait that
// may be shorter is spent awake.
constexpr std::chrono::microseconds spin_time{20};

// Chunks of a job for each thread: enough that one that is late leaves little undone.
constexpr Int chunks_per_thread = 8;

template <typename Condition> void spin_until(Condition met) noexcept {
    const auto end = std::chrono::steady_clock::now() + spin_time;
    while (!met() && std::chrono::steady_clock::now() < end) pause();
}

// A pool has one job at a time and is never destroyed: its threads sleep when the process exits.
class ThreadPool {
public:
    bool acquire() noexcept { return !busy.exchange(true, std::memory_order_acquire); }
    void release() noexcept { busy.store(false, std::memory_order_release); }

    void run(int helpers, Int count, Task task) noexcept {
        while (started < helpers && start()) ++started;
        helpers = std::min(helpers, started);
        const Job job{task, count, std::max<Int>(1, count / (chunks_per_thread * (helpers + 1)))};
        int missing;
        {
            const std::lock_guard<std::mutex> hold(mutex);
            current = &job;
            next.store(0, std::memory_order_relaxed);
            seats = helpers;
            generation.fetch_add(1, std::memory_order_release);
            missing = helpers - (started - sleepers);  // Threads that are awake come by themselves.
        }
        for (; missing > 0; --missing) wake.notify_one();
        share(job);
        {
            // Nobody joins any more: those that have not woken up by now are not waited for.
            const std::lock_guard<std::mutex> hold(mutex);
            seats = 0;
        }
        spin_until([this] { return active.load(std::memory_order_acquire) == 0; });
        std::unique_lock<std::mutex> hold(mutex);
        done.wait(hold, [this] { return active.load(std::memory_order_relaxed) == 0; });
    }

private:
    struct Job {
        Task task;
        Int count;
        Int chunk;
    };

    bool start() noexcept {
        try {
            std::thread([this] { work(); }).detach();
            return true;
        } catch (const std::system_error &) {
            return false;
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    void share(const Job &job) noexcept {
        for (;;) {
            const Int begin = next.fetch_add(job.chunk, std::memory_order_relaxed);
            if (begin >= job.count) return;
            job.task(begin, std::min(job.count, begin + job.chunk));
        }
    }

    void work() noexcept {
        std::uint64_t seen = 0;
        std::unique_lock<std::mutex> hold(mutex);
        for (;;) {
            hold.unlock();
            spin_until([&] { return generation.load(std::memory_order_acquire) != seen; });
            hold.lock();
            ++sleepers;
            wake.wait(hold, [&] { return generation.load(std::memory_order_relaxed) != seen; });
            --sleepers;
            seen = generation.load(std::memory_order_relaxed);
            if (seats == 0) continue;
            --seats;
            active.fetch_add(1, std::memory_order_relaxed);
            const Job &job = *current;
            hold.unlock();
            share(job);
            hold.lock();
            if (active.fetch_sub(1, std::memory_order_release) == 1) done.notify_one();
        }
    }

    std::atomic<bool> busy{false};
    int started = 0;

    std::mutex mutex;  // Guards all below, save that `next` is counted, and the other atomics read, without it.
    std::condition_variable wake, done;
    const Job *current = nullptr;
    int seats = 0;
    int sleepers = 0;
    std::atomic<int> active{0};
    std::atomic<std::uint64_t> generation{0};
    alignas(64) std::atomic<Int> next{0};
};

std::atomic<ThreadPool *> shared_pool{nullptr};

#ifndef _WIN32
// A forked child has none of the threads, and the locks are as they were: it starts afresh.
const int forgotten_in_children =
    pthread_atfork(nullptr, nullptr, [] { shared_pool.store(nullptr, std::memory_order_relaxed); });
#endif

ThreadPool *the_pool() noexcept {
    ThreadPool *pool = shared_pool.load(std::memory_order_acquire);
    if (pool) return pool;
    ThreadPool *made = new (std::nothrow) ThreadPool;
    if (made && !shared_pool.compare_exchange_strong(pool, made)) {
        delete made;
        return pool;
    }
    return made;
}

int usable_cpus() noexcept {
#ifdef __linux__
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
#endif
    return int(std::thread::hardware_concurrency());
}

}  // namespace

void parallel(int threads, Int tasks, Task task) noexcept {
    if (tasks <= 0) return;
    const int wanted = int(std::min<Int>({threads, tasks, max_threads}));
    ThreadPool *pool = wanted > 1 ? the_pool() : nullptr;
    if (!pool || !pool->acquire()) {
        task(0, tasks);
        return;
    }
    pool->run(wanted - 1, tasks, task);
    pool->release();
}

int default_threads() noexcept {
    if (const char *text = std::getenv("RELAYOUT_THREADS")) {
        char *end = nullptr;
        errno = 0;
        const long number = std::strtol(text, &end, 10);
        if (end != text && *end == 0 && errno == 0 && number > 0) return int(std::min<long>(number, max_threads));
    }
    return std::clamp(usable_cpus(), 1, max_threads);
}

}  // namespace relayout
