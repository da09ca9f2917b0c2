// How many CPUs this process may use: its affinity mask and its container's quota.
//
// Within exec/ only.
#ifndef H5ZARR_EXEC_CPU_LIMIT_H_
#define H5ZARR_EXEC_CPU_LIMIT_H_

#include <string>
#include <string_view>

namespace h5zarr {

// At least 1. Reads /proc and /sys.
int UsableCpus();

// The CPUs that control groups allow, rounded up; 0 where nothing limits them. `proc_cgroup` is the
// text of /proc/self/cgroup, `cgroup_root` where the hierarchies are mounted (/sys/fs/cgroup). The
// tightest of the process's own group and all groups above it counts.
int CgroupCpus(std::string_view proc_cgroup, const std::string& cgroup_root);

}  // namespace h5zarr

#endif  // H5ZARR_EXEC_CPU_LIMIT_H_
