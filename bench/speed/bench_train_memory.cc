// Measures peak memory and time of training on more tuples than memory_mb
// holds.
//
// Runs a real sortition-trainer. Also compares training in memory with training
// from a scratch file on a log that allows both.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "io/files.h"
#include "io/segments/segment_writer.h"
#include "sortition/config/v1/train_report.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(uint64_t, tuples, 1000000, "tuples to train on with memory_mb");
ABSL_FLAG(uint64_t, compare_tuples, 100000,
          "tuples to train on both in memory and spilled, in pairs; 0: none");
ABSL_FLAG(int, pairs, 3, "pairs of trainings of the comparison");
ABSL_FLAG(uint32_t, candidates, 50, "candidates of a tuple");
ABSL_FLAG(uint32_t, features, 46, "features of a candidate");
ABSL_FLAG(uint32_t, top_k, 10, "ranks of a tuple; with --select one is chosen");
ABSL_FLAG(bool, select, false, "selections instead of rankings");
ABSL_FLAG(uint64_t, memory_mb, 2048, "--memory_mb of the trainer");
ABSL_FLAG(uint32_t, epochs, 3, "epochs of the one grid point");
ABSL_FLAG(std::string, objective, "CRM", "--poem.objective of the trainer");
ABSL_FLAG(std::string, dir, "",
          "directory of the log and the scratch file, about 20 kB a tuple of "
          "the default shape; empty: TMPDIR, or /tmp");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");

namespace sortition {
namespace {

constexpr uint64_t kSegmentBytes = uint64_t{256} << 20;
constexpr double kMib = 1024.0 * 1024.0;

absl::StatusOr<std::unique_ptr<SegmentWriter>> StartSegment(
    const std::string& dir, uint64_t number) {
  SegmentWriter::Options options;
  options.dir = dir;
  options.name = SegmentName(1700000000000000 + static_cast<int64_t>(number),
                             "bench", number);
  options.preallocate_bytes = kSegmentBytes;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::TUPLES);
  options.header.set_writer_id("bench");
  options.header.set_incarnation("1");
  return SegmentWriter::Create(options);
}

// Makes decisions of the uniform policy. Features are stretches of one table.
class TupleMaker {
 public:
  TupleMaker() : random_(SeedKey(1)), table_(1 << 20) {
    for (float& value : table_) value = static_cast<float>(random_.Normal());
  }

  void Make(uint64_t i, log::v1::BanditTuple* tuple) {
    const uint32_t n = absl::GetFlag(FLAGS_candidates);
    const uint32_t d = absl::GetFlag(FLAGS_features);
    const bool select = absl::GetFlag(FLAGS_select);
    const uint32_t k = select ? 1 : std::min(n, absl::GetFlag(FLAGS_top_k));
    log::v1::Decision* decision = tuple->mutable_decision();
    decision->set_decision_id(absl::StrCat("d", i));
    decision->set_model("default");
    decision->set_action_kind(select ? log::v1::SELECT : log::v1::RANK);
    decision->set_num_candidates(n);
    decision->set_num_features(d);
    if (!select) decision->set_top_k(k);
    const float* row = &table_[random_.Below(table_.size() - n * d)];
    decision->mutable_dense_values()->Assign(row, row + n * d);
    order_.resize(n);
    for (uint32_t j = 0; j < n; ++j) order_[j] = static_cast<int32_t>(j);
    double log_propensity = 0;
    for (uint32_t rank = 0; rank < k; ++rank) {
      std::swap(order_[rank], order_[rank + random_.Below(n - rank)]);
      log_propensity -= std::log(static_cast<double>(n - rank));
    }
    decision->mutable_action()->Assign(order_.begin(), order_.begin() + k);
    decision->set_log_propensity(log_propensity);
    const float first = row[static_cast<uint32_t>(order_[0]) * d];
    tuple->set_reward(random_.Uniform() < 1 / (1 + std::exp(-first)) ? 1 : 0);
    tuple->set_has_feedback(true);
  }

 private:
  RandomSequence random_;
  std::vector<float> table_;
  std::vector<int32_t> order_;
};

absl::Status WriteLog(const std::string& dir, uint64_t num_tuples) {
  std::filesystem::create_directories(dir);
  TupleMaker maker;
  log::v1::LogRecord record;
  std::unique_ptr<SegmentWriter> writer;
  uint64_t segments = 0;
  for (uint64_t i = 0; i < num_tuples; ++i) {
    if (writer == nullptr || writer->bytes() > kSegmentBytes * 9 / 10) {
      if (writer != nullptr) RETURN_IF_ERROR(writer->Close());
      ASSIGN_OR_RETURN(writer, StartSegment(dir, segments++));
    }
    maker.Make(i, record.mutable_tuple());
    RETURN_IF_ERROR(writer->Append(record));
  }
  return writer == nullptr ? absl::OkStatus() : writer->Close();
}

struct Outcome {
  double peak_mib = 0;
  double read_seconds = 0;
  double epoch_seconds = 0;
  double seconds = 0;
  config::v1::TrainReport report;
};

// Returns the seconds in the last line "<task>: 12 MiB in 3.4 s" of the
// trainer's progress; NaN if there is none.
double SecondsOf(const std::string& log, const std::string& task) {
  const size_t line = log.rfind("\n" + task + ": ");
  const size_t place =
      line == std::string::npos ? line : log.find(" in ", line);
  return place == std::string::npos ? NAN : std::atof(&log[place + 4]);
}

absl::StatusOr<rusage> RunProgram(std::vector<std::string> arguments,
                                  const std::string& log) {
  const pid_t child = fork();
  if (child < 0) return absl::UnavailableError("cannot fork");
  if (child == 0) {
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    dup2(fd, STDOUT_FILENO);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  // Exit status 3: it was trained, but the gate refused the model.
  if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
      (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
    return absl::InternalError(
        absl::StrCat(arguments[0], " ended with ", status, ":\n", text));
  }
  return usage;
}

absl::StatusOr<Outcome> Train(const std::string& root, const std::string& log,
                              uint64_t memory_mb) {
  const std::string bin = absl::GetFlag(FLAGS_bin).empty()
                              ? std::filesystem::read_symlink("/proc/self/exe")
                                    .parent_path()
                                    .string()
                              : absl::GetFlag(FLAGS_bin);
  const uint32_t epochs = absl::GetFlag(FLAGS_epochs);
  std::filesystem::create_directories(root + "/models");
  ASSIGN_OR_RETURN(
      const rusage usage,
      RunProgram({bin + "/sortition-trainer", "train", "--tuples=" + log,
                  "--model_store=" + root + "/models", "--dry_run",
                  "--scratch=" + root, "--report=" + root + "/report",
                  absl::StrCat("--memory_mb=", memory_mb),
                  "--poem.objective=" + absl::GetFlag(FLAGS_objective),
                  "--validation_fraction=0.01", "--test_fraction=0.01",
                  "--poem.lambda=0.1", "--poem.l2=1e-6", "--poem.start=ZERO",
                  absl::StrCat("--poem.adagrad.max_epochs=", epochs),
                  absl::StrCat("--poem.adagrad.patience=", epochs)},
                 root + "/log"));
  Outcome outcome;
  outcome.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  ASSIGN_OR_RETURN(const std::string progress, ReadFile(root + "/log"));
  outcome.read_seconds = SecondsOf("\n" + progress, "reading tuples");
  outcome.epoch_seconds = SecondsOf(progress, "training") / epochs;
  ASSIGN_OR_RETURN(const std::string json, ReadFile(root + "/report"));
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json, &outcome.report);
  if (!parsed.ok()) return absl::InternalError(parsed.ToString());
  outcome.seconds = outcome.report.seconds();
  return outcome;
}

void Print(const std::string& what, const Outcome& outcome) {
  absl::PrintF(
      "%-26s %9d tuples  peak %7.1f MiB  spilled %8.1f MiB  kept %5.1f %%  "
      "read %6.1f s  epoch %7.2f s  all %7.1f s\n",
      what, outcome.report.read_tuples(), outcome.peak_mib,
      static_cast<double>(outcome.report.spilled_bytes()) / kMib,
      100 * outcome.report.kept_fraction(), outcome.read_seconds,
      outcome.epoch_seconds, outcome.seconds);
  std::fflush(stdout);
}

absl::Status Compare(const std::string& root, std::vector<Target>* targets) {
  const uint64_t n = absl::GetFlag(FLAGS_compare_tuples);
  if (n == 0) return absl::OkStatus();
  const std::string log = root + "/compare";
  RETURN_IF_ERROR(WriteLog(log, n));
  const double features_mib = static_cast<double>(n) *
                              absl::GetFlag(FLAGS_candidates) *
                              absl::GetFlag(FLAGS_features) * 4 / kMib;
  std::vector<double> ratios;
  for (int pair = 0; pair < absl::GetFlag(FLAGS_pairs); ++pair) {
    ASSIGN_OR_RETURN(
        const Outcome memory,
        Train(root, log, static_cast<uint64_t>(1024 + 2 * features_mib)));
    Print("in memory", memory);
    ASSIGN_OR_RETURN(
        const Outcome spilled,
        Train(root, log, static_cast<uint64_t>(128 + features_mib / 4)));
    Print("spilled", spilled);
    ratios.push_back(spilled.epoch_seconds / memory.epoch_seconds);
  }
  targets->push_back(
      {"seconds of an epoch, spilled / in memory", MedianOf(ratios), 1.5});
  std::filesystem::remove_all(log);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Target>> Run() {
  const std::string parent = absl::GetFlag(FLAGS_dir);
  if (!parent.empty()) std::filesystem::create_directories(parent);
  const TempDir directory(parent);
  const std::string& root = directory.path();
  std::vector<Target> targets;
  RETURN_IF_ERROR(Compare(root, &targets));
  RETURN_IF_ERROR(WriteLog(root + "/tuples", absl::GetFlag(FLAGS_tuples)));
  ASSIGN_OR_RETURN(
      const Outcome outcome,
      Train(root, root + "/tuples", absl::GetFlag(FLAGS_memory_mb)));
  Print(absl::StrCat("memory_mb ", absl::GetFlag(FLAGS_memory_mb)), outcome);
  targets.push_back({"peak memory, GiB", outcome.peak_mib / 1024, 2});
  targets.push_back(
      {"share of the tuples left out", 1 - outcome.report.kept_fraction(), 0});
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Trains on more tuples than fit into memory; measures memory and time.",
      sortition::Run);
}
