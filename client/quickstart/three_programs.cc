#include "client/quickstart/three_programs.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/quickstart/child_program.h"
#include "client/quickstart/folder.h"
#include "client/quickstart/training_schedule.h"
#include "core/base/status_macros.h"
#include "process/options/options.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPatienceSeconds = 30;
constexpr double kLookAgainSeconds = 0.05;
constexpr double kLookAtProgramsSeconds = 0.5;

double SecondsOfClock() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

absl::Status Ended(const std::string& name, ChildProgram* program) {
  return absl::AbortedError(absl::StrCat(name, " ended with status ",
                                         *program->Poll(), "; ", program->log(),
                                         ": ", program->LastLine()));
}

// Reads what the folder says of the programs: users may have changed it.
template <typename Options>
absl::Status ReadOptions(const std::string& dir, const char* name,
                         Options* options) {
  CommandLine command_line;
  return ParseOptions({absl::StrCat("--config=", dir, "/", name)}, options,
                      &command_line);
}

class ThreePrograms {
 public:
  ThreePrograms(const ThreeProgramsOptions& options,
                const std::function<bool(double)>& wait_for_stop,
                std::ostream* out)
      : options_(options), wait_for_stop_(wait_for_stop), out_(*out) {}

  absl::Status Run() {
    // Users may have removed what was there. Whoever needs it says if it fails.
    for (const char* name : {"logs", "run"}) {
      std::error_code ignored;
      std::filesystem::create_directory(absl::StrCat(options_.dir, "/", name),
                                        ignored);
    }
    RETURN_IF_ERROR(
        ReadOptions(options_.dir, kServerOptions, &server_options_));
    RETURN_IF_ERROR(
        ReadOptions(options_.dir, kSidecarOptions, &sidecar_options_));
    std::string trainer;
    if (options_.train_every_seconds > 0) {
      ASSIGN_OR_RETURN(trainer,
                       FindProgram("sortition-trainer", options_.programs));
    }
    absl::Status status = Start("sortition-server", "server", kServerOptions,
                                server_options_.port_file(), &server_);
    if (status.ok() && !is_stopped_) {
      status = Start("sortition-sidecar", "sidecar", kSidecarOptions,
                     sidecar_options_.port_file(), &sidecar_);
    }
    if (status.ok() && !is_stopped_) {
      SayWhatRuns();
      status = Watch(trainer);
    }
    const absl::Status end = EndAll();
    return status.ok() ? end : status;
  }

 private:
  // Starts a program and waits until it has written its ports.
  absl::Status Start(const std::string& name, const std::string& role,
                     const char* config, const std::string& port_file,
                     std::unique_ptr<ChildProgram>* program) {
    ASSIGN_OR_RETURN(const std::string path,
                     FindProgram(name, options_.programs));
    std::error_code error;
    std::filesystem::remove(port_file, error);
    ASSIGN_OR_RETURN(
        *program,
        ChildProgram::Start(
            path, {absl::StrCat("--config=", options_.dir, "/", config)},
            absl::StrCat(options_.dir, "/logs/", role, ".log")));
    const double end = SecondsOfClock() + kPatienceSeconds;
    while (!port_file.empty() && !std::filesystem::exists(port_file, error)) {
      if ((*program)->Poll().has_value()) return Ended(name, program->get());
      if (SecondsOfClock() > end) {
        return absl::DeadlineExceededError(
            absl::StrCat(name, " does not serve after ", kPatienceSeconds,
                         " s; ", (*program)->log(), " says why"));
      }
      is_stopped_ = wait_for_stop_(kLookAgainSeconds);
      if (is_stopped_) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  std::string ShareText() const {
    return absl::StrFormat("%.3g %%",
                           100 * server_options_.cold_start().explore());
  }

  void SayWhatRuns() {
    const std::string& http = server_options_.http().listen();
    out_ << "server   http://" << http << " (page, JSON), gRPC at "
         << server_options_.listen() << "\n"
         << "sidecar  http://" << sidecar_options_.http_listen() << "\n"
         << "trainer  ";
    if (options_.train_every_seconds > 0) {
      out_ << "every " << options_.train_every_seconds
           << " s, when there are new tuples\n";
    } else {
      out_ << "off\n";
    }
    out_
        << "folder   " << options_.dir << " (options, logs/)\n\n"
        << "Send your candidates in the order you have today, with "
           "\"baseline\": {}: until there\nis a model, most users get that "
           "order, and "
        << ShareText()
        << " of the answers are drawn at random, to "
           "learn\nfrom. Report clicks with their rank, thumbs as the reward 1 "
           "or the loss 1, within\n"
        << sidecar_options_.join().reward_wait_time_seconds()
        << " s of the answer.\n\n"
        << "Next, in another terminal:\n"
        << "  sortition rank --server=" << server_options_.listen()
        << " --features="
        << ShellQuoted(absl::StrCat(options_.dir, "/", kRequest))
        << " --decision_id=try-1\n"
        << "  sortition feedback --server=" << server_options_.listen()
        << " --decision_id=try-1 --reward=1\n"
        << "  sortition top --server=http://" << http << "\n\n"
        << "Ctrl-C ends all.\n"
        << std::flush;
  }

  absl::Status Watch(const std::string& trainer) {
    training_ = std::make_unique<TrainingSchedule>(TrainingSchedule::Options{
        .program = trainer,
        .dir = options_.dir,
        .every_seconds = options_.train_every_seconds});
    while (!wait_for_stop_(kLookAtProgramsSeconds)) {
      if (server_->Poll().has_value()) {
        return Ended("sortition-server", server_.get());
      }
      if (sidecar_->Poll().has_value()) {
        return Ended("sortition-sidecar", sidecar_.get());
      }
      ASSIGN_OR_RETURN(const std::string news,
                       training_->Poll(SecondsOfClock()));
      if (!news.empty()) out_ << news << "\n" << std::flush;
    }
    return absl::OkStatus();
  }

  // The server drains first: the sidecar then finds all that it logged.
  absl::Status EndAll() {
    if (training_ != nullptr) training_->End(kPatienceSeconds);
    absl::Status status;
    const std::pair<const char*, ChildProgram*> programs[] = {
        {"server", server_.get()}, {"sidecar", sidecar_.get()}};
    for (const auto& [name, program] : programs) {
      if (program == nullptr) continue;
      const int code = program->End(kPatienceSeconds);
      out_ << name << " ended"
           << (code == 0 ? "" : absl::StrCat(" with status ", code)) << "\n"
           << std::flush;
      if (code != 0 && status.ok()) {
        status = Ended(absl::StrCat("sortition-", name), program);
      }
    }
    return status;
  }

  const ThreeProgramsOptions& options_;
  const std::function<bool(double)>& wait_for_stop_;
  std::ostream& out_;
  config::v1::ServerOptions server_options_;
  config::v1::SidecarOptions sidecar_options_;
  std::unique_ptr<ChildProgram> server_;
  std::unique_ptr<ChildProgram> sidecar_;
  std::unique_ptr<TrainingSchedule> training_;
  bool is_stopped_ = false;
};

}  // namespace

absl::Status RunThreePrograms(const ThreeProgramsOptions& options,
                              const std::function<bool(double)>& wait_for_stop,
                              std::ostream* out) {
  return ThreePrograms(options, wait_for_stop, out).Run();
}

}  // namespace sortition
