#include "client/top/top_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "client/top/terminal.h"
#include "client/top/top_text.h"
#include "core/base/status_macros.h"
#include "process/shutdown.h"

namespace sortition {
namespace {

// Longest wait for a key between two looks for a signal.
constexpr double kSliceSeconds = 0.1;

bool IsStandardOutput(const CommandOutput& output) {
  return output.out.rdbuf() == std::cout.rdbuf();
}

void Print(const std::vector<std::string>& lines, std::ostream* out) {
  for (const std::string& line : lines) *out << line << "\n";
  out->flush();
}

absl::Status PrintOnce(const TopView& view, bool colours,
                       CommandOutput* output) {
  Print(TopLines(view, colours), &output->out);
  for (const std::string* problem :
       {&view.server_problem, &view.sidecar_problem}) {
    if (!problem->empty()) return absl::UnavailableError(*problem);
  }
  return absl::OkStatus();
}

// Waits until the next look is due. Returns false if it is to end.
bool WaitForNext(double seconds, const Terminal& terminal) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (true) {
    const double left =
        seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (left <= 0) return true;
    const char key = terminal.WaitForKey(std::min(left, kSliceSeconds));
    if (key == 'q' || key == 'Q' || key == kEndOfKeys || WaitForShutdown(0)) {
      return false;
    }
  }
}

}  // namespace

const char kTopHelp[] =
    R"(Shows what a server and its sidecar do: models and what they earn, calls and
their times, the log, warnings. It is what their page shows.

  sortition top [--server=http://HOST:8503] [--sidecar=http://HOST:8504]
  sortition top --once

It looks again every --refresh_seconds; q or Ctrl-C ends it, and so does the end
of its terminal. Where its output is no terminal it prints one look after the
other, until nobody reads them. Colours are for terminals, and not where
NO_COLOR is set.
)";

absl::Status RunTop(const config::v1::TopOptions& options,
                    const std::vector<std::string>&, CommandOutput* output) {
  const bool colours = IsStandardOutput(*output) && MayHaveColours();
  ASSIGN_OR_RETURN(TopView view, LookAt(options));
  if (options.once()) return PrintOnce(view, colours, output);
  BlockShutdownSignals(Hangup::kEnd);
  if (!IsStandardOutput(*output) || isatty(STDOUT_FILENO) != 1) {
    while (true) {
      Print(TopLines(view, false), &output->out);
      // As in `top | head`.
      if (!output->out) return absl::OkStatus();
      if (WaitForShutdown(options.refresh_seconds())) return absl::OkStatus();
      output->out << "\n";
      ASSIGN_OR_RETURN(view, LookAt(options));
    }
  }
  Terminal terminal(&output->out);
  while (true) {
    terminal.Draw(TopLines(view, colours, Terminal::Columns()));
    if (!output->out || !WaitForNext(options.refresh_seconds(), terminal)) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(view, LookAt(options));
  }
}

}  // namespace sortition
