#include "exec/cpu_limit.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace h5zarr {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The number at the start of `text`, and `text` moved behind it and one separator.
std::optional<long long> TakeNumber(std::string_view& text) {
  long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(end - text.data());
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

int Tighter(int a_cpus, int b_cpus) {
  if (a_cpus == 0) return b_cpus;
  if (b_cpus == 0) return a_cpus;
  return std::min(a_cpus, b_cpus);
}

int CpusOfQuota(long long quota_us, long long period_us) {
  if (quota_us <= 0 || period_us <= 0) return 0;
  const long long cpus = quota_us / period_us + (quota_us % period_us != 0 ? 1 : 0);
  return static_cast<int>(std::clamp(cpus, 1LL, 1LL << 20));
}

// "max 100000" or "150000 100000".
int CpusOfV2(const std::string& group_directory) {
  const std::string text = ReadText(group_directory + "/cpu.max");
  std::string_view rest = text;
  const std::optional<long long> quota_us = TakeNumber(rest);
  if (!quota_us) return 0;
  const std::optional<long long> period_us = TakeNumber(rest);
  return period_us ? CpusOfQuota(*quota_us, *period_us) : 0;
}

int CpusOfV1(const std::string& group_directory) {
  const std::string quota = ReadText(group_directory + "/cpu.cfs_quota_us");
  const std::string period = ReadText(group_directory + "/cpu.cfs_period_us");
  std::string_view quota_rest = quota;
  std::string_view period_rest = period;
  const std::optional<long long> quota_us = TakeNumber(quota_rest);
  const std::optional<long long> period_us = TakeNumber(period_rest);
  return quota_us && period_us ? CpusOfQuota(*quota_us, *period_us) : 0;
}

// The tightest limit from `group` up to the mount itself. Inside a container the path named by
// /proc is often that of the host, of which only the top (the container's own group) is visible.
int TightestUpwards(int (*cpus_of)(const std::string&), const std::string& mount, std::string_view group) {
  int cpus = cpus_of(mount);
  while (!group.empty() && group != "/") {
    cpus = Tighter(cpus, cpus_of(mount + std::string(group)));
    group = group.substr(0, group.rfind('/'));
  }
  return cpus;
}

bool NamesCpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

int AffinityCpus() {
  // The kernel refuses masks that are smaller than its own.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t set_bytes = CPU_ALLOC_SIZE(cpus);
    const int failed = sched_getaffinity(0, set_bytes, set);
    const bool too_small = failed != 0 && errno == EINVAL;
    const int allowed = failed == 0 ? CPU_COUNT_S(set_bytes, set) : 0;
    CPU_FREE(set);
    if (allowed > 0) return allowed;
    if (!too_small) break;
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int CgroupCpus(std::string_view proc_cgroup, const std::string& cgroup_root) {
  int cpus = 0;
  while (!proc_cgroup.empty()) {
    // "<id>:<controllers>:<group>"; version 2 has id 0 and no controllers.
    const std::size_t line_end = std::min(proc_cgroup.find('\n'), proc_cgroup.size());
    const std::string_view line = proc_cgroup.substr(0, line_end);
    proc_cgroup.remove_prefix(std::min(line_end + 1, proc_cgroup.size()));
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) {
      cpus = Tighter(cpus, TightestUpwards(CpusOfV2, cgroup_root, group));
      cpus = Tighter(cpus, TightestUpwards(CpusOfV2, cgroup_root + "/unified", group));
    } else if (NamesCpu(controllers)) {
      const std::string joint = cgroup_root + "/" + std::string(controllers);
      cpus = Tighter(cpus, TightestUpwards(CpusOfV1, joint, group));
      cpus = Tighter(cpus, TightestUpwards(CpusOfV1, cgroup_root + "/cpu", group));
    }
  }
  return cpus;
}

int UsableCpus() {
  const int quota_cpus = CgroupCpus(ReadText("/proc/self/cgroup"), "/sys/fs/cgroup");
  return std::max(1, Tighter(AffinityCpus(), quota_cpus));
}

}  // namespace h5zarr
