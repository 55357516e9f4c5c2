// SPDX-License-Identifier: Apache-2.0
// Update times of controllers, called as the controller manager calls them, by a thread on a core of its own.
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <controller_interface/chainable_controller_interface.hpp>
#include <controller_interface/controller_interface.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>
#include <std_msgs/msg/empty.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <string>
#include <thread>
#include <trajectory_msgs/msg/joint_trajectory.hpp>
#include <vector>

using controller_interface::ControllerInterfaceBase;
using Clock = std::chrono::steady_clock;

namespace
{
thread_local bool counting = false;
thread_local std::size_t allocations = 0;
}  // namespace

void * operator new(std::size_t size)
{
  allocations += counting ? 1 : 0;
  if (void * found = std::malloc(size)) {
    return found;
  }
  throw std::bad_alloc();
}
void operator delete(void * given) noexcept { std::free(given); }
void operator delete(void * given, std::size_t) noexcept { std::free(given); }

namespace
{
constexpr double kPeriod = 0.001;  // of the control loop [s]
constexpr const char * kGuard = "motion_guard";
constexpr const char * kTorques = "torque_controller";
constexpr const char * kTrajectory = "joint_trajectory_controller";
constexpr const char * kInterfaces = "interfaces";
constexpr double kPacked = 1e-6, kPaced = 4e-6;  // of `machine`, about as long as an update [s]

/// Reads and writes what a torque controller does, and computes nothing.
class Interfacing : public controller_interface::ControllerInterface
{
public:
  explicit Interfacing(std::vector<std::string> joints) : joints_(std::move(joints)) {}
  controller_interface::CallbackReturn on_init() override
  {
    return controller_interface::CallbackReturn::SUCCESS;
  }
  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    return of({"effort"});
  }
  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    return of({"position", "velocity"});
  }
  controller_interface::return_type update(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    double sum = 0.0;
    for (const auto & state : state_interfaces_) {
      sum += state.get_optional().value_or(NAN);
    }
    bool written = true;
    for (auto & command : command_interfaces_) {
      written = command.set_value(sum) && written;
    }
    return written ? controller_interface::return_type::OK : controller_interface::return_type::ERROR;
  }

private:
  controller_interface::InterfaceConfiguration of(const std::vector<std::string> & kinds) const
  {
    controller_interface::InterfaceConfiguration out{
      controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & kind : kinds) {
      for (const auto & joint : joints_) {
        out.names.push_back(joint + "/" + kind);
      }
    }
    return out;
  }
  std::vector<std::string> joints_;
};

/// What the manager lends to controllers.
struct Interfaces
{
  std::map<std::string, hardware_interface::StateInterface::SharedPtr> states;
  std::map<std::string, hardware_interface::CommandInterface::SharedPtr> commands;

  void lend(ControllerInterfaceBase & controller)
  {
    std::vector<hardware_interface::LoanedStateInterface> in;
    std::vector<hardware_interface::LoanedCommandInterface> out;
    for (const auto & name : controller.state_interface_configuration().names) {
      in.emplace_back(states.at(name));
    }
    for (const auto & name : controller.command_interface_configuration().names) {
      out.emplace_back(commands.at(name));
    }
    controller.assign_interfaces(std::move(out), std::move(in));
  }
};

/// `seconds` of sines from rest to rest, as many points as its shape needs.
trajectory_msgs::msg::JointTrajectory motion(
  const std::vector<std::string> & joints, double seconds)
{
  trajectory_msgs::msg::JointTrajectory out;
  out.joint_names = joints;
  const double step = 0.05, w = 2.0 * M_PI / 4.0, amplitude = 0.2;  // [s, rad/s, rad]
  for (double t = 0.0; t <= seconds + 0.5 * step; t += step) {
    trajectory_msgs::msg::JointTrajectoryPoint point;
    point.time_from_start = rclcpp::Duration::from_seconds(t);
    const double x = w * t;  // 1 - cos: at rest at both ends of whole periods
    point.positions.assign(joints.size(), amplitude * (1.0 - std::cos(x)));
    point.velocities.assign(joints.size(), amplitude * w * std::sin(x));
    point.accelerations.assign(joints.size(), amplitude * w * w * std::cos(x));
    if (t == 0.0 || t > seconds - 0.5 * step) {
      point.velocities.assign(joints.size(), 0.0);
    }
    out.points.push_back(point);
  }
  return out;
}

/// A chain of the joints: joint_trajectory_controller asks the description whether they turn for ever.
std::string description(const std::vector<std::string> & joints)
{
  std::string out = "<robot name='chain'><link name='0'/>";
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const std::string parent = std::to_string(j), child = std::to_string(j + 1);
    out += "<link name='" + child + "'/><joint name='" + joints[j] + "' type='revolute'><parent link='" +
           parent + "'/><child link='" + child + "'/><limit lower='-9' upper='9' velocity='9' effort='9'/></joint>";
  }
  return out + "</robot>";
}

void on_core(int core, int priority)
{
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  if (priority > 0) {
    const sched_param how{priority};
    std::printf(
      "real-time priority: %s\n", sched_setscheduler(0, SCHED_FIFO, &how) == 0 ? "yes" : "no");
  }
}

void line(const char * mode, const std::string & name, std::vector<double> t, double allocated)
{
  std::sort(t.begin(), t.end());
  const auto at = [&](double share) {
    return t[static_cast<std::size_t>(share * static_cast<double>(t.size() - 1))];
  };
  std::printf(
    "%s | %s | %.2f | %.2f | %.2f | %.0f | %g\n", mode, name.c_str(), at(0.5), at(0.99), at(0.999),
    t.back(), allocated);
}
}  // namespace

// update_times PARAMETERS CYCLES paced|packed JOINT...
int main(int argc, char ** argv)
{
  const std::string file = argv[1], mode = argv[3];
  const int cycles = std::atoi(argv[2]);
  const std::vector<std::string> joints(argv + 4, argv + argc);
  rclcpp::init(0, nullptr);
  mlockall(MCL_CURRENT | MCL_FUTURE);
  on_core(0, 0);  // threads that are made from here on inherit it
  pluginlib::ClassLoader<controller_interface::ChainableControllerInterface> chainable(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  pluginlib::ClassLoader<controller_interface::ControllerInterface> plain(
    "controller_interface", "controller_interface::ControllerInterface");
  std::vector<std::shared_ptr<ControllerInterfaceBase>> all{
    std::make_shared<Interfacing>(joints),
    chainable.createSharedInstance("robot_sysid_controllers/MotionGuard"),
    chainable.createSharedInstance("robot_sysid_controllers/TorqueController"),
    plain.createSharedInstance("joint_trajectory_controller/JointTrajectoryController")};
  const std::vector<std::string> names{kInterfaces, kGuard, kTorques, kTrajectory};
  Interfaces lent;
  for (const auto & joint : joints) {
    for (const std::string kind : {"position", "velocity", "effort"}) {
      const std::string name = joint + "/" + kind;
      lent.states[name] =
        std::make_shared<hardware_interface::StateInterface>(joint, kind, "double", "0.0");
      hardware_interface::InterfaceInfo info;
      info.name = kind;
      info.data_type = "double";
      info.initial_value = "0.0";
      lent.commands[name] = std::make_shared<hardware_interface::CommandInterface>(
        hardware_interface::InterfaceDescription(joint, info));
      lent.commands[name]->set_on_set_command_limiter([](double x, bool & limited) {
        limited = false;
        return x;
      });
    }
  }
  rclcpp::executors::SingleThreadedExecutor executor;
  for (const std::size_t k : {0, 2, 1, 3}) {  // the guard needs the references of the torque controller
    controller_interface::ControllerInterfaceParams given;
    given.controller_name = names[k];
    given.robot_description = description(joints);
    given.update_rate = given.controller_manager_update_rate = static_cast<unsigned>(1.0 / kPeriod);
    given.node_options.arguments({"--ros-args", "--params-file", file});
    given.node_options.allow_undeclared_parameters(true);
    given.node_options.automatically_declare_parameters_from_overrides(true);
    if (all[k]->init(given) != controller_interface::return_type::OK) {
      return 1;
    }
    all[k]->configure();
    for (const auto & reference : all[k]->export_reference_interfaces()) {
      reference->set_on_set_command_limiter([](double x, bool & limited) {
        limited = false;
        return x;
      });
      lent.commands[reference->get_name()] = reference;
    }
    if (names[k] == kTorques) {
      all[k]->set_chained_mode(true);
    }
    lent.lend(*all[k]);
    if (all[k]->get_node()->activate().id() != lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE) {
      return 1;
    }
    executor.add_node(all[k]->get_node()->get_node_base_interface());
  }
  const auto node = std::make_shared<rclcpp::Node>("user");
  executor.add_node(node);
  std::thread others([&] { executor.spin(); });

  on_core(1, 80);
  std::vector<std::vector<double>> took(all.size() + 1);
  std::vector<std::size_t> allocated(all.size() + 1, 0);
  for (auto & times : took) {
    times.reserve(static_cast<std::size_t>(cycles));
  }
  const auto period = rclcpp::Duration::from_seconds(kPeriod);
  rclcpp::Time time(1, 0, RCL_ROS_TIME);
  auto next = Clock::now();
  bool measured = false;
  int errors = 0;
  const double spin = mode == "paced" ? kPaced : kPacked;
  const auto cycle = [&] {
    for (const auto & joint : joints) {  // the robot is where it is commanded to be
      const auto reference = [&](const char * kind) {
        const double found =
          lent.commands.at(std::string(kTorques) + "/" + joint + "/" + kind)->get_optional().value_or(0.0);
        return std::isfinite(found) ? found : 0.0;
      };
      (void)lent.states[joint + "/position"]->set_value(reference("position"));
      (void)lent.states[joint + "/velocity"]->set_value(reference("velocity"));
    }
    for (std::size_t i = 0; i <= all.size(); ++i) {
      allocations = 0;
      counting = true;
      const auto before = Clock::now();
      if (i == all.size()) {
        while (std::chrono::duration<double>(Clock::now() - before).count() < spin) {
        }
      } else if (all[i]->update(time, period) != controller_interface::return_type::OK) {
        ++errors;
      }
      const auto after = Clock::now();
      counting = false;
      if (measured) {
        took[i].push_back(1e6 * std::chrono::duration<double>(after - before).count());
        allocated[i] += allocations;
      }
    }
    time += period;
    if (mode == "paced" || !measured) {
      next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kPeriod));
      std::this_thread::sleep_until(next);
    }
  };
  const auto wait = [&](double seconds) {
    for (int k = 0; k < seconds / kPeriod; ++k) {
      cycle();
    }
  };
  const auto path = motion(joints, 4.0 * std::ceil((cycles * kPeriod + 5.0) / 4.0));
  const auto qos = rclcpp::QoS(1).transient_local();
  auto to_guard = node->create_publisher<trajectory_msgs::msg::JointTrajectory>(
    std::string("/") + kGuard + "/trajectory", qos);
  auto to_other = node->create_publisher<trajectory_msgs::msg::JointTrajectory>(
    std::string("/") + kTrajectory + "/joint_trajectory", qos);
  auto beat = node->create_publisher<std_msgs::msg::Empty>(std::string("/") + kGuard + "/heartbeat", 1);
  auto play = node->create_client<std_srvs::srv::Trigger>(std::string("/") + kGuard + "/play");
  wait(1.0);
  beat->publish(std_msgs::msg::Empty());
  to_guard->publish(path);
  to_other->publish(path);
  wait(2.0);
  auto answer = play->async_send_request(std::make_shared<std_srvs::srv::Trigger::Request>());
  wait(1.0);
  if (
    answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready || !answer.get()->success) {
    std::fprintf(stderr, "The guard doesn't play.\n");
    return 1;
  }
  errors = 0;
  measured = true;
  for (int k = 0; k < cycles; ++k) {
    cycle();
  }
  const double moved = lent.states[joints[0] + "/velocity"]->get_optional().value_or(0.0);
  for (std::size_t k = 0; k <= all.size(); ++k) {
    line(
      mode.c_str(), k < all.size() ? names[k] : "machine", took[k],
      static_cast<double>(allocated[k]) / cycles);
  }
  std::printf("errors %d, velocity at the end %.3f rad/s\n", errors, moved);
  std::fflush(stdout);
  std::_Exit(0);
}
