// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace robot_sysid_controllers
{

/// Hands objects from one ordinary thread to one real-time thread: no lock, no allocation there.
///
/// What the real-time thread has done with is kept for the ordinary thread, which frees it.
template <typename T>
class Mailbox
{
public:
  Mailbox() = default;
  Mailbox(const Mailbox &) = delete;
  Mailbox & operator=(const Mailbox &) = delete;

  ~Mailbox()
  {
    delete offered_.load();
    delete used_.load();
  }

  /// Ordinary thread: offer an object in place of one that wasn't taken.
  void offer(std::unique_ptr<T> object)
  {
    delete used_.exchange(nullptr, std::memory_order_acq_rel);
    delete offered_.exchange(object.release(), std::memory_order_acq_rel);
  }

  /// Ordinary thread: take back what wasn't taken.
  void withdraw() { offer(nullptr); }

  /// Real-time thread: what was offered, or null. Only where `give_back` has room.
  T * take() noexcept
  {
    if (used_.load(std::memory_order_acquire) != nullptr) {
      return nullptr;  // the ordinary thread frees the last one with its next offer or `clear`
    }
    return offered_.exchange(nullptr, std::memory_order_acq_rel);
  }

  /// Real-time thread: return an object that is done with.
  void give_back(T * object) noexcept { used_.store(object, std::memory_order_release); }

  /// Ordinary thread, now and then: free what was given back.
  void clear() { delete used_.exchange(nullptr, std::memory_order_acq_rel); }

private:
  std::atomic<T *> offered_{nullptr};
  std::atomic<T *> used_{nullptr};
};

}  // namespace robot_sysid_controllers
