#pragma once
// Spools, clocks and readers for the tests of the sidecar.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/segments/segment_writer.h"
#include "sidecar/pipeline.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition::testing_sidecar {

constexpr int64_t kSecond = 1000000;
constexpr double kWindowSeconds = 10;
constexpr double kSlackSeconds = 1;

// Returns options with window 10 s and slack 1 s; syncs at every poll.
config::v1::SidecarOptions Options(const std::string& dir);

log::v1::LogRecord DecisionRecord(const std::string& id, int64_t time_us,
                                  uint64_t version = 7);
log::v1::LogRecord FeedbackRecord(const std::string& feedback_id,
                                  const std::string& id, int64_t time_us,
                                  double reward);
log::v1::LogRecord ShownRecord(const std::string& id, int64_t time_us,
                               bool not_shown = false);

// What a shadow thinks; its propensity and its mode are of `version`.
log::v1::LogRecord ViewRecordOf(const std::string& id, int64_t time_us,
                                uint64_t version);

// Begins a segment as the server does.
std::unique_ptr<SegmentWriter> NewSegment(
    const std::string& spool, int64_t created_us, uint64_t counter,
    const std::string& writer_id = "server");

// Returns a history of `num_decisions` decisions, 0.5 s apart from `start_us`
// on. Shown and feedback records come early, in time, late, twice, or for
// unknown decisions; decisions come twice, also with another answer; and ids
// are used again after two windows. Ends with a decision "end" long after all
// others. A function of `seed`.
std::vector<log::v1::LogRecord> History(int num_decisions, uint32_t seed,
                                        int64_t start_us);

// Writes `records` to closed segments of `per_segment` records.
void WriteSpool(const std::string& spool,
                const std::vector<log::v1::LogRecord>& records,
                size_t per_segment);

// The tuples and the late feedback that a history must give: lines "<decision
// id> <reward> <feedback ids>" in the order of decisions, and sorted lines
// "<feedback id> <reason>". Aggregation SUM; without the decision "end".
struct Expected {
  std::vector<std::string> tuples;
  std::vector<std::string> late;
  size_t num_ambiguous = 0;  // Not part of Output().
};
// Applies the rules of docs/join.md to all pairs of records.
Expected ExpectedOutput(const std::vector<log::v1::LogRecord>& records);

// Reads the directory of tuples into the same form, without "end".
Expected Output(const std::string& tuples_dir);
// Reads whole tuples, or late feedback, in the order of writing.
std::vector<log::v1::BanditTuple> ReadTuples(const std::string& tuples_dir);
std::vector<log::v1::LateFeedback> ReadLate(const std::string& tuples_dir);

// A clock under control; every look moves it by 20 ms.
struct FakeClock {
  int64_t now_us = 0;
  Pipeline::Clock Get() {
    return [this] { return now_us += 20000; };
  }
};

// Polls until nothing is pending and nothing is left to read; moves the clock
// when the pipeline waits.
void RunToEnd(Pipeline* pipeline, FakeClock* clock);

// Returns true once `condition` is true, false after 60 s.
bool WaitUntil(const std::function<bool()>& condition);

}  // namespace sortition::testing_sidecar
