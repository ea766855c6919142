// std::call_once, condition variables, futures and atomics of 16 bytes: weak imports that libpthread once had.
#include <atomic>
#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

struct Wide {
  long a, b;
};

int main() {
  std::once_flag flag;
  int calls = 0;
  std::vector<std::thread> threads;
  for (int index = 0; index < 4; index++) threads.emplace_back([&] { std::call_once(flag, [&] { calls++; }); });
  for (auto &thread : threads) thread.join();
  std::cout << "called " << calls << "\n";
  std::once_flag throwing;
  for (int index = 0; index < 2; index++) {
    try {
      std::call_once(throwing, [&] { throw index; });
    } catch (int number) {
      std::cout << "thrown " << number << "\n";
    }
  }
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  std::thread waker([&] {
    std::lock_guard lock(mutex);
    done = true;
    ready.notify_one();
  });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return done; });
  lock.unlock();
  waker.join();
  auto future = std::async(std::launch::async, [] { return 42; });
  std::cout << "future " << future.get() << "\n";
  std::atomic<Wide> wide{{1, 2}};
  Wide seen = wide.load();
  wide.store({seen.b, seen.a});
  std::cout << wide.load().a << wide.load().b << "\n";
}
