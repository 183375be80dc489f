#pragma once
// A pipeline over the spools of several writers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "io/spool/writer_state.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition::testing_sidecar {

inline int64_t At(double seconds) {
  return kStartUs + static_cast<int64_t>(seconds * kSecond);
}

class SeveralSpoolsTest : public PipelineTest {
 protected:
  SeveralSpoolsTest() {
    options_.clear_spool();
    Use({"a", "b"});
  }

  // Reads these spools, whose writers have their names.
  void Use(const std::vector<std::string>& writers) {
    options_.clear_spool();
    for (const std::string& writer : writers) {
      options_.add_spool(SpoolOf(writer));
      std::filesystem::create_directories(SpoolOf(writer));
    }
  }
  std::string SpoolOf(const std::string& writer) const {
    return dir_ / absl::StrCat("spools/", writer);
  }
  // Writes a closed segment.
  void Write(const std::string& writer,
             const std::vector<log::v1::LogRecord>& records) {
    const auto segment =
        NewSegment(SpoolOf(writer), ++num_segments_, 0, writer);
    for (const log::v1::LogRecord& record : records) {
      ASSERT_OK(segment->Append(record));
    }
    ASSERT_OK(segment->Close());
  }
  // Says that the writer gave its last sign of life at this time.
  void SayAlive(const std::string& writer, int64_t time_us,
                int64_t trouble_since_us = 0) {
    WriterState state;
    state.alive_us = time_us;
    state.trouble_since_us = trouble_since_us;
    state.newest_segment_us = num_segments_;
    ASSERT_OK(WriteFile(SpoolOf(writer) + "/" + kWriterLockFile,
                        EncodeWriterState(state)));
  }
  // Polls until nothing is left to do before this time.
  void RunUntil(Pipeline* pipeline, int64_t time_us) {
    clock_.now_us = std::max(clock_.now_us, time_us);
    for (bool is_busy = true; is_busy;) {
      const auto polled = pipeline->Poll(16);
      ASSERT_OK(polled);
      is_busy = *polled;
    }
  }
  // Runs a pipeline up to this time and kills it.
  void RunAndDie(int64_t time_us) {
    const auto pipeline = Open();
    RunUntil(pipeline.get(), time_us);
  }
  // Runs a pipeline for so many steps and kills it; returns false if all is
  // over before.
  bool RunSteps(uint64_t steps) {
    const auto pipeline = Open();
    while (steps > 0 && clock_.now_us < At(300)) {
      const auto is_busy = pipeline->Poll(1);
      EXPECT_OK(is_busy);
      if (*is_busy) {
        --steps;
      } else {
        clock_.now_us += kSecond;
      }
    }
    return steps == 0;
  }
  absl::Status OpenError() {
    return Pipeline::Open(options_, &metrics_, clock_.Get()).status();
  }
  // "<writer>/<id>=<reward>" of all tuples.
  std::vector<std::string> Tuples() const {
    std::vector<std::string> lines;
    for (const auto& tuple : ReadTuples(options_.tuples())) {
      lines.push_back(absl::StrCat(tuple.spool_writer(), "/",
                                   tuple.decision().decision_id(), "=",
                                   tuple.reward()));
    }
    return lines;
  }

  int64_t num_segments_ = 1000;
};

}  // namespace sortition::testing_sidecar
