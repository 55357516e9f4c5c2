// SPDX-License-Identifier: Apache-2.0
// The update laws of robot_sysid_controllers as C functions, for tests in Python.
#include <chrono>
#include <memory>
#include <new>
#include <thread>

#include "robot_sysid_controllers/exported_model.hpp"
#include "robot_sysid_controllers/gravity_check.hpp"
#include "robot_sysid_controllers/guarded_motion.hpp"
#include "robot_sysid_controllers/inertial_parameters.hpp"
#include "robot_sysid_controllers/mailbox.hpp"
#include "robot_sysid_controllers/torque_law.hpp"

using namespace robot_sysid_controllers;

namespace
{
thread_local long allocations = 0;
}

void * operator new(std::size_t size)
{
  ++allocations;
  if (void * p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void * p) noexcept { std::free(p); }
void operator delete(void * p, std::size_t) noexcept { std::free(p); }

extern "C" {

int consistent(const double * pi) { return is_physically_consistent(pi); }

void moved(const double * body, const double * R, const double * p, double * pi)
{
  const InertialParameters out = inertial_parameters_in(body[0], body + 1, body + 4, R, p);
  std::copy(out.begin(), out.end(), pi);
}

// A path sampled at u; and why it is refused ("" : it isn't).
void sample(
  int n, int K, const double * t, const double * q, const double * v, const double * a, int m,
  const double * u, double * out)
{
  const Path path(
    n, {t, t + K}, {q, q + K * n}, {v, v + K * n}, {a, a + K * n});
  std::size_t k = 0;
  for (int i = 0; i < m; ++i) {
    path.at(u[i], k, out + 3 * n * i, out + 3 * n * i + n, out + 3 * n * i + 2 * n);
  }
}

void refusal(
  int n, int K, const double * t, const double * q, const double * v, const double * a,
  const double * limits, char * text)
{
  const Path path(n, {t, t + K}, {q, q + K * n}, {v, v + K * n}, {a, a + K * n});
  const auto row = [&](int i) { return std::vector<double>(limits + i * n, limits + (i + 1) * n); };
  const auto why = path.refusal({row(0), row(1), row(2), row(3)}, 1e-3);
  std::snprintf(text, 200, "%s", why.value_or("").c_str());
}

// A guarded motion over m periods. events rows: executor speaks, wrench speaks, stop, speed, error of
// the state, missed periods before. out rows: q, v, a (n each), place, doing. Answers allocations in the loop, -1: no beginning.
long guarded(
  int n, int K, const double * t, const double * q, const double * v, const double * a,
  const double * acceleration, double dt, double wrench, int m, const double * events, double * out)
{
  const Path path(n, {t, t + K}, {q, q + K * n}, {v, v + K * n}, {a, a + K * n});
  GuardedMotion motion({acceleration, acceleration + n}, 0.1, 0.1, wrench, dt);
  std::vector<double> measured(q, q + n);
  motion.hold(measured.data());
  std::uint32_t executor = 1, sensor = 1;
  motion.update({measured.data(), executor, sensor, false, 1.0}, dt);
  if (!motion.begin(path)) return -1;
  const long before = allocations;
  for (int i = 0; i < m; ++i) {
    const double * e = events + 6 * i;
    executor += e[0] != 0.0;
    sensor += e[1] != 0.0;
    for (int j = 0; j < n; ++j) measured[j] = motion.q()[j] + e[4];
    motion.update({measured.data(), executor, sensor, e[2] != 0.0, e[3]}, (1.0 + e[5]) * dt);
    double * row = out + i * (3 * n + 3);
    std::copy_n(motion.q(), n, row);
    std::copy_n(motion.v(), n, row + n);
    std::copy_n(motion.a(), n, row + 2 * n);
    row[3 * n] = motion.place();
    row[3 * n + 1] = static_cast<double>(motion.doing());
    row[3 * n + 2] = static_cast<double>(motion.cause());
  }
  return allocations - before;
}

// Torques along a motion; other parameters are offered at row `at`, whose period is options[6]. mode 0: gravity compensation.
// out rows: tau (n), share. Answers allocations in the loop; -1 with a text: not loaded.
long law(
  const char * library, int mode, int m, int at, const double * parameters, const double * motion,
  const double * measured, const double * options, double dt, double * out, char * text,
  double * microseconds)
{
  try {
    const ExportedModel model(library);
    const std::size_t n = model.joint_names().size();
    const auto each = [n](double limit) { return std::vector<double>(n, limit); };
    TorqueLaw law(
      model, {options[0], options[1], options[2], each(options[3]), each(options[4]),
              each(options[5]), 0.05, dt});
    const long before = allocations;
    for (int i = 0; i < m; ++i) {
      if (i == at) law.go_to(parameters);
      const double * row = motion + 3 * n * i;
      const Reference reference{row, row + n, row + 2 * n};
      const double * now = measured + 2 * n * i;
      double * tau = out + (n + 2) * i;
      const auto start = std::chrono::steady_clock::now();
      const double period = i == at ? options[6] : dt;
      tau[n + 1] = law.update(now, now + n, mode ? &reference : nullptr, period, tau);
      microseconds[i] = std::chrono::duration<double, std::micro>(
                          std::chrono::steady_clock::now() - start).count();
      tau[n] = law.share();
    }
    return allocations - before;
  } catch (const std::exception & error) {
    std::snprintf(text, 200, "%s", error.what());
    return -1;
  }
}

// Why parameters are refused ("": they aren't).
void gravity(const char * library, const double * parameters, double factor, char * text)
{
  const ExportedModel model(library);
  const std::vector<double> given(parameters, parameters + model.parameters().size());
  std::snprintf(text, 200, "%s", gravity_refusal(model, given, factor).c_str());
}

// One thread offers 1, 2, 3 ..., another takes: answers how many arrived, -1 where one came out of order.
long handed_over(long offers)
{
  Mailbox<long> box;
  std::atomic<bool> done{false};
  long arrived = 0, last = 0;
  std::thread taker([&] {
    while (!done.load() || last < offers) {
      if (long * x = box.take()) {
        if (*x <= last) arrived = -1000000000;
        last = *x;
        ++arrived;
        box.give_back(x);
      }
    }
  });
  for (long i = 1; i <= offers; ++i) box.offer(std::make_unique<long>(i));
  done = true;
  while (last < offers) box.clear(), std::this_thread::yield();
  taker.join();
  return arrived < 0 ? -1 : arrived;
}
}
