#include "process/hangup.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "core/base/check.h"

namespace sortition {
namespace {

int HangupDescriptor() {
  sigset_t hangup;
  ::sigemptyset(&hangup);
  ::sigaddset(&hangup, SIGHUP);
  return ::signalfd(-1, &hangup, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

HangupWatch::HangupWatch(std::function<void()> reload)
    : reload_(std::move(reload)),
      signals_(HangupDescriptor()),
      end_(::eventfd(0, EFD_CLOEXEC)) {
  CHECK(signals_ >= 0 && end_ >= 0);
  thread_ = std::thread(&HangupWatch::Run, this);
}

HangupWatch::~HangupWatch() {
  CHECK(::eventfd_write(end_, 1) == 0);
  thread_.join();
  ::close(signals_);
  ::close(end_);
}

void HangupWatch::Run() {
  pollfd descriptors[] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
  while (true) {
    if (::poll(descriptors, 2, -1) < 0) continue;
    if (descriptors[1].revents != 0) return;
    signalfd_siginfo info = {};
    if (::read(signals_, &info, sizeof(info)) > 0) reload_();
  }
}

}  // namespace sortition
