// Interrupts (Ctrl-C, and what ends a program) that let it clean up first.
#ifndef H5ZARR_TOOLS_INTERRUPTS_H_
#define H5ZARR_TOOLS_INTERRUPTS_H_

#include <signal.h>

#include <array>

namespace h5zarr::tools {

// While it lives, a first SIGINT, SIGTERM or SIGHUP is only noted; a second one ends the program as ever. One at a
// time.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

  static bool WasInterrupted();
  // Ends the program as the signal that was noted would have. REQUIRES: WasInterrupted.
  [[noreturn]] void Die() const;

 private:
  std::array<struct sigaction, 3> before_;
};

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_INTERRUPTS_H_
