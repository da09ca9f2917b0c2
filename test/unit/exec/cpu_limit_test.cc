#include "exec/cpu_limit.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"

namespace h5zarr {
namespace {

// A control group file system of our own making.
class FakeCgroups {
 public:
  FakeCgroups() {
    char name[] = "/tmp/h5zarr-cgroup-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~FakeCgroups() { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

TEST_CASE("a version 2 quota is rounded up to whole CPUs") {
  FakeCgroups groups;
  groups.Put("job/cpu.max", "150000 100000\n");
  CHECK(CgroupCpus("0::/job\n", groups.root()) == 2);
  groups.Put("job/cpu.max", "20000 100000\n");
  CHECK(CgroupCpus("0::/job\n", groups.root()) == 1);
}

TEST_CASE("no quota is no limit") {
  FakeCgroups groups;
  groups.Put("job/cpu.max", "max 100000\n");
  CHECK(CgroupCpus("0::/job\n", groups.root()) == 0);
  CHECK(CgroupCpus("", groups.root()) == 0);
  CHECK(CgroupCpus("nonsense\n0:\n", groups.root()) == 0);
}

TEST_CASE("the tightest group above counts") {
  FakeCgroups groups;
  groups.Put("a/b/cpu.max", "max 100000\n");
  groups.Put("a/cpu.max", "300000 100000\n");
  CHECK(CgroupCpus("0::/a/b\n", groups.root()) == 3);
}

TEST_CASE("a container that sees only its own group has that group's quota") {
  FakeCgroups groups;
  groups.Put("cpu.max", "400000 100000\n");
  CHECK(CgroupCpus("0::/docker/0123/of/the/host\n", groups.root()) == 4);
}

TEST_CASE("a version 1 quota counts, -1 is none") {
  FakeCgroups groups;
  groups.Put("cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  groups.Put("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  const std::string lines = "5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/job\n";
  CHECK(CgroupCpus(lines, groups.root()) == 3);
  groups.Put("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  CHECK(CgroupCpus(lines, groups.root()) == 0);
}

TEST_CASE("a process may always use one CPU") { CHECK(UsableCpus() >= 1); }

}  // namespace
}  // namespace h5zarr
