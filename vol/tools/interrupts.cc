#include "tools/interrupts.h"

#include <unistd.h>

namespace h5zarr::tools {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kSignalBase = 128;  // a shell adds the signal's number

volatile sig_atomic_t noted = 0;

void Note(int signal) { noted = signal; }

}  // namespace

CatchInterrupts::CatchInterrupts() {
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = Note;
  // The second time, the default holds again. System calls go on: what is interrupted is asked for.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    // What whoever started the program ignores (nohup) stays ignored.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

CatchInterrupts::~CatchInterrupts() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool CatchInterrupts::WasInterrupted() { return noted != 0; }

void CatchInterrupts::Die() const {
  const int signal = noted;
  ::signal(signal, SIG_DFL);
  raise(signal);
  _exit(kSignalBase + signal);
}

}  // namespace h5zarr::tools
