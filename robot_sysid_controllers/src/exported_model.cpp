// SPDX-License-Identifier: Apache-2.0
#include "robot_sysid_controllers/exported_model.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace robot_sysid_controllers
{
namespace
{
std::string prefix_of(const std::string & library)
{
  std::string name = library.substr(library.find_last_of('/') + 1);
  name = name.substr(0, name.find('.'));
  return name.rfind("lib", 0) == 0 ? name.substr(3) : name;
}
}  // namespace

ExportedModel::ExportedModel(const std::string & library, const std::string & prefix)
: library_(library), prefix_(prefix.empty() ? prefix_of(library) : prefix)
{
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw std::runtime_error("The model can't be loaded: " + std::string(dlerror()));
  }
  try {
    const int * sizes = symbol<const int *>("sizes");
    const auto n = static_cast<std::size_t>(sizes[0]), p = static_cast<std::size_t>(sizes[2]);
    const auto * joints = symbol<const char * const *>("joint_names");
    const auto * names = symbol<const char * const *>("parameter_names");
    const auto * values = symbol<const double *>("parameters");
    joint_names_.assign(joints, joints + n);
    parameter_names_.assign(names, names + p);
    parameters_.assign(values, values + p);
    state_size_ = 3 * static_cast<std::size_t>(sizes[1]);
    armature_ = symbol<const double *>("armature");
    reset_ = symbol<decltype(reset_)>("reset");
    torques_ = symbol<decltype(torques_)>("torques_of");
    gravity_ = symbol<decltype(gravity_)>("gravity_of");
    mass_matrix_ = symbol<decltype(mass_matrix_)>("mass_matrix");
    rigid_torques_ = symbol<decltype(rigid_torques_)>("rigid_torques");
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

ExportedModel::~ExportedModel() { dlclose(handle_); }

template <typename F>
F ExportedModel::symbol(const std::string & name) const
{
  void * found = dlsym(handle_, (prefix_ + "_" + name).c_str());
  if (found == nullptr) {
    throw std::runtime_error(
      "'" + library_ + "' has no " + prefix_ + "_" + name +
      ": compile the C code that this version's `sysid export --to c` writes, and give its prefix.");
  }
  return reinterpret_cast<F>(found);
}

}  // namespace robot_sysid_controllers
