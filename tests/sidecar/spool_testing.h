#pragma once
// Spools, clocks and readers for the tests of the sidecar.
#include <cstdint>
#include <filesystem>
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

// A directory that is gone at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// Window 10 s, slack 1 s; syncs and tidies up at every poll.
config::v1::SidecarOptions Options(const std::string& dir);

log::v1::LogRecord DecisionRecord(const std::string& id, int64_t time_us,
                                  uint64_t version = 7);
log::v1::LogRecord FeedbackRecord(const std::string& feedback_id,
                                  const std::string& id, int64_t time_us,
                                  double reward);
log::v1::LogRecord ShownRecord(const std::string& id, int64_t time_us,
                               bool not_shown = false);

// A segment as the server begins it.
std::unique_ptr<SegmentWriter> NewSegment(const std::string& spool,
                                          int64_t created_us, uint64_t counter);

// A history of `num_decisions` decisions, 0.5 s apart from `start_us` on, with
// shown and feedback: early, in time, late, twice, for nobody; decisions twice,
// also with another answer; and ids used again after two windows. Ends with a
// decision "end" long after all others. A function of `seed`.
std::vector<log::v1::LogRecord> History(int num_decisions, uint32_t seed,
                                        int64_t start_us);

// Writes `records`, `per_segment` to a closed segment.
void WriteSpool(const std::string& spool,
                const std::vector<log::v1::LogRecord>& records,
                size_t per_segment);

// What tuples and late feedback a history must give, from the rules of
// docs/join.md by looking at all pairs: lines "<decision id> <reward>
// <feedback ids>" in the order of decisions, and sorted "<feedback id>
// <reason>". Aggregation SUM; without the decision "end".
struct Expected {
  std::vector<std::string> tuples;
  std::vector<std::string> late;
  size_t num_ambiguous = 0;  // Not part of Output().
};
Expected ExpectedOutput(const std::vector<log::v1::LogRecord>& records);

// What is in the directory of tuples, in the same form, "end" left out.
Expected Output(const std::string& tuples_dir);
// Whole tuples, in order of writing.
std::vector<log::v1::BanditTuple> ReadTuples(const std::string& tuples_dir);

// Time at hand; every look moves it by 20 ms.
struct FakeClock {
  int64_t now_us = 0;
  Pipeline::Clock Get() {
    return [this] { return now_us += 20000; };
  }
};

// Polls until nothing is pending and nothing left to read, moving the clock
// where the pipeline waits.
void RunToEnd(Pipeline* pipeline, FakeClock* clock);

// True once `condition` is, false after 60 s.
bool WaitUntil(const std::function<bool()>& condition);

}  // namespace sortition::testing_sidecar
