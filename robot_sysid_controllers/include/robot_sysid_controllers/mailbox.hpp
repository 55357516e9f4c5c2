// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace robot_sysid_controllers
{

/// Passes objects from one ordinary thread to one real-time thread, without locks and allocations there.
///
/// The ordinary thread frees the objects that the real-time thread returns.
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

  /// Ordinary thread: offer an object; it replaces one that was not taken.
  void offer(std::unique_ptr<T> object)
  {
    delete used_.exchange(nullptr, std::memory_order_acq_rel);
    delete offered_.exchange(object.release(), std::memory_order_acq_rel);
  }

  /// Ordinary thread: withdraw an object that was not taken.
  void withdraw() { offer(nullptr); }

  /// Real-time thread: take the offered object; null if there is none, or the returned one is not freed.
  T * take() noexcept
  {
    if (used_.load(std::memory_order_acquire) != nullptr) {
      return nullptr;  // the ordinary thread frees it with the next offer or `clear`
    }
    return offered_.exchange(nullptr, std::memory_order_acq_rel);
  }

  /// Real-time thread: return an object that is no longer used.
  void give_back(T * object) noexcept { used_.store(object, std::memory_order_release); }

  /// Ordinary thread, periodically: free the returned object.
  void clear() { delete used_.exchange(nullptr, std::memory_order_acq_rel); }

private:
  std::atomic<T *> offered_{nullptr};
  std::atomic<T *> used_{nullptr};
};

}  // namespace robot_sysid_controllers
