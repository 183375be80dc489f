#include "io/spool_writer.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/record_frame.h"
#include "tests/io/segment_testing.h"
#include "tests/io/temp_dir.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

bool PollUntil(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

log::v1::Decision SmallDecision(const std::string& id) {
  log::v1::Decision decision;
  decision.set_decision_id(id);
  decision.set_time_us(1700000000000000);
  decision.set_model("m");
  decision.set_version(300);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.mutable_policy()->set_inverse_temperature(2);
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(2);
  decision.set_num_features(3);
  decision.add_eligible(true);
  decision.add_candidate_ids("c");
  decision.set_seed(0);
  decision.add_action(1);
  decision.add_action(-1);
  decision.set_log_propensity(-0.25);
  decision.set_can_abstain(true);
  return decision;
}

std::vector<float> Values(size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = static_cast<float>(i) * 0.37f - 5.0f;
  }
  return values;
}

class SpoolWriterTest : public testing::Test {
 protected:
  SpoolWriterTest() {
    options_.set_dir(dir_ / "spool");
    options_.set_segment_bytes(65536);
    options_.set_segment_seconds(86400);
    options_.set_sync_interval_seconds(0.01);
  }

  std::unique_ptr<SpoolWriter> Open() {
    auto writer = SpoolWriter::Open(options_, "the options");
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  std::vector<std::string> Segments() { return *ListSegments(options_.dir()); }

  // Of all segments, in order.
  std::vector<log::v1::LogRecord> Records() {
    std::vector<log::v1::LogRecord> records;
    for (const std::string& name : Segments()) {
      const Contents contents = ReadAll(options_.dir() + "/" + name);
      EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
      EXPECT_THAT(contents.corrupt_offsets, SizeIs(0));
      records.insert(records.end(), contents.records.begin(),
                     contents.records.end());
    }
    return records;
  }

  std::vector<std::string> Ids() {
    Contents all;
    all.records = Records();
    return all.Ids();
  }

  // What the sidecar does with a segment it has read. One that is in use stays.
  void RemoveClosedSegments() {
    for (const std::string& name : Segments()) {
      const std::string path = options_.dir() + "/" + name;
      if (!*SegmentHasLiveWriter(path)) std::filesystem::remove(path);
    }
  }

  // Until one append is not written. Returns how many were.
  int Fill(SpoolWriter* writer) {
    const std::vector<float> values = Values(2000);
    for (int i = 0;; ++i) {
      const absl::Status status =
          writer->AppendDecision(SmallDecision(absl::StrCat(i)), values);
      const SpoolStats stats = writer->stats();
      EXPECT_EQ(status.ok(), stats.refused == 0);
      if (stats.refused + stats.lost > 0) return i;
    }
  }

  const TempDir dir_;
  SpoolOptions options_;
};

TEST_F(SpoolWriterTest, DecisionsHaveTheBytesOfTheLibrary) {
  const auto writer = Open();
  for (const size_t size : {0, 1, 31, 32, 6, 200000}) {
    const std::vector<float> values = Values(size);
    const log::v1::Decision decision = SmallDecision(absl::StrCat(size));
    const uint64_t before = writer->stats().bytes;
    ASSERT_OK(writer->AppendDecision(decision, values));
    log::v1::LogRecord expected;
    *expected.mutable_decision() = decision;
    expected.mutable_decision()->mutable_dense_values()->Assign(values.begin(),
                                                                values.end());
    const log::v1::LogRecord record = [&] {
      for (const auto& r : Records()) {
        if (r.decision().decision_id() == absl::StrCat(size)) return r;
      }
      return log::v1::LogRecord();
    }();
    EXPECT_TRUE(record.SerializeAsString() == expected.SerializeAsString());
    EXPECT_EQ(writer->stats().bytes - before,
              FrameBytes(expected.ByteSizeLong()));
  }
  // All fields but `dense_values` small, sparse features among them.
  log::v1::Decision sparse = SmallDecision("sparse");
  sparse.mutable_sparse()->add_row_offsets(0);
  sparse.mutable_sparse()->add_values(0.5f);
  ASSERT_OK(writer->AppendDecision(sparse, {}));
  EXPECT_EQ(Records().back().decision().SerializeAsString(),
            sparse.SerializeAsString());
}

TEST_F(SpoolWriterTest, RotatesBySize) {
  const auto writer = Open();
  // 8000 bytes of values and below 150 others each: eight fit into 65536.
  const std::vector<float> values = Values(2000);
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(absl::StrCat(i));
    ASSERT_OK(writer->AppendDecision(SmallDecision(expected.back()), values));
  }
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), expected);
  const std::vector<std::string> names = Segments();
  EXPECT_EQ(names.size(), 7u);  // ⌈50 / 8⌉
  EXPECT_EQ(writer->stats().segments, 7u);
  uint64_t sequence = 0;
  std::set<std::string> incarnations;
  for (const std::string& name : names) {
    const std::string path = options_.dir() + "/" + name;
    EXPECT_LE(std::filesystem::file_size(path), 65536u + 100);
    const Contents contents = ReadAll(path);
    const log::v1::SegmentHeader& header = contents.records.front().header();
    EXPECT_EQ(header.first_sequence(), sequence);
    EXPECT_EQ(header.kind(), log::v1::SegmentHeader::SPOOL);
    EXPECT_EQ(header.options(), "the options");
    EXPECT_THAT(header.incarnation(), SizeIs(16));
    incarnations.insert(header.incarnation());
    sequence += contents.Ids().size();
    EXPECT_EQ(contents.records.back().footer().last_sequence(), sequence - 1);
  }
  EXPECT_THAT(incarnations, SizeIs(1));
}

TEST_F(SpoolWriterTest, RotatesByAgeWithoutTraffic) {
  options_.set_segment_seconds(0.05);
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), {}));
  const std::string first = options_.dir() + "/" + Segments().front();
  EXPECT_TRUE(
      PollUntil([&] { return ReadAll(first).records.back().has_footer(); }));
  EXPECT_THAT(ReadAll(first).Ids(), ElementsAre("a"));
  // The next one has no record, and ages in vain.
  EXPECT_TRUE(PollUntil([&] { return writer->stats().syncs > 10; }));
  EXPECT_THAT(Segments(), SizeIs(2));
}

TEST_F(SpoolWriterTest, TakesARecordLargerThanASegment) {
  const auto writer = Open();
  const std::vector<float> values = Values(100000);
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_OK(writer->AppendDecision(SmallDecision(id), values));
  }
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Segments(), SizeIs(3));
}

TEST_F(SpoolWriterTest, RefusesAtTheLimitUntilThereIsRoom) {
  options_.set_max_bytes(200000);
  const auto writer = Open();
  EXPECT_GT(Fill(writer.get()), 10);
  EXPECT_LE(writer->stats().spool_bytes, 200000u);
  EXPECT_THAT(writer->AppendDecision(SmallDecision("x"), Values(2000)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("at most 200000")));
  EXPECT_EQ(writer->stats().refused, 2u);
  EXPECT_EQ(writer->stats().lost, 0u);
  EXPECT_TRUE(PollUntil([&] {
    RemoveClosedSegments();
    return writer->AppendDecision(SmallDecision("again"), Values(2000)).ok();
  }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids().back(), "again");
}

TEST_F(SpoolWriterTest, CountsAtTheLimitAndLogsTheGap) {
  options_.set_max_bytes(200000);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  const int written = Fill(writer.get());
  const auto records = static_cast<uint64_t>(written);
  EXPECT_EQ(writer->stats().records, records);
  const log::v1::LogRecord batch[] = {FeedbackRecord(std::string(9000, 'f')),
                                      FeedbackRecord("g")};
  ASSERT_OK(writer->Append(batch));
  EXPECT_EQ(writer->stats().lost, 3u);
  EXPECT_EQ(writer->stats().refused, 0u);
  uint64_t lost = 3;
  EXPECT_TRUE(PollUntil([&] {
    RemoveClosedSegments();
    EXPECT_OK(writer->AppendDecision(SmallDecision("again"), Values(2000)));
    if (writer->stats().records > records) return true;
    ++lost;
    return false;
  }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(writer->stats().lost, lost);
  std::vector<log::v1::LogRecord> gaps;
  for (const log::v1::LogRecord& record : Records()) {
    if (record.has_gap()) gaps.push_back(record);
  }
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].gap().lost_records(), lost);
  EXPECT_GT(gaps[0].gap().first_time_us(), 0);
  EXPECT_LE(gaps[0].gap().first_time_us(), gaps[0].gap().last_time_us());
  EXPECT_THAT(gaps[0].gap().reason(), HasSubstr("at most 200000"));
  EXPECT_EQ(Ids().back(), "again");
}

TEST_F(SpoolWriterTest, CloseLogsTheGap) {
  options_.set_max_bytes(131072);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  Fill(writer.get());
  ASSERT_OK(writer->Close());
  const std::vector<log::v1::LogRecord> records = Records();
  ASSERT_GT(records.size(), 2u);
  EXPECT_EQ(records[records.size() - 2].gap().lost_records(), 1u);
  EXPECT_TRUE(records.back().has_footer());
}

// As on a full disk: see SegmentWriterTest.
TEST_F(SpoolWriterTest, AFullDiskRefusesWhatDoesNotFit) {
  signal(SIGXFSZ, SIG_IGN);
  const auto writer = Open();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status refused =
      writer->AppendDecision(SmallDecision("large"), Values(50000));
  const absl::Status taken = writer->AppendDecision(SmallDecision("a"), {});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(taken);
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a"));
}

TEST_F(SpoolWriterTest, ABatchCutByAFullDiskIsCountedRecordByRecord) {
  signal(SIGXFSZ, SIG_IGN);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  const log::v1::LogRecord batch[] = {FeedbackRecord("a"), FeedbackRecord("b"),
                                      FeedbackRecord(std::string(100000, 'x')),
                                      FeedbackRecord("c")};
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 80000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status counted = writer->Append(batch);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_OK(counted);
  EXPECT_EQ(writer->stats().records, 2u);
  EXPECT_EQ(writer->stats().lost, 2u);
  // Larger than what is left of the segment: it goes into the next one.
  ASSERT_OK(writer->AppendDecision(SmallDecision("d"), Values(20000)));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "d"));
  const std::vector<std::string> names = Segments();
  ASSERT_THAT(names, SizeIs(2));
  const Contents first = ReadAll(options_.dir() + "/" + names[0]);
  EXPECT_EQ(first.records.back().footer().num_records(), 2u);
  const Contents second = ReadAll(options_.dir() + "/" + names[1]);
  EXPECT_EQ(second.records[0].header().first_sequence(), 2u);
  EXPECT_EQ(second.records[1].gap().lost_records(), 2u);
}

TEST_F(SpoolWriterTest, FourThreadsLoseNothing) {
  const auto writer = Open();
  constexpr int kThreads = 4;
  constexpr int kPerThread = 2000;
  const std::vector<float> values = Values(100);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPerThread; ++i) {
        const std::string id = absl::StrCat(t, ":", i);
        if (i % 2 == 0) {
          EXPECT_OK(writer->AppendDecision(SmallDecision(id), values));
        } else {
          const log::v1::LogRecord pair[] = {FeedbackRecord(id),
                                             FeedbackRecord(id + "b")};
          EXPECT_OK(writer->Append(pair));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(writer->stats().records, kThreads * kPerThread * 3u / 2);
  ASSERT_OK(writer->Close());
  const std::vector<std::string> ids = Ids();
  EXPECT_THAT(ids, SizeIs(kThreads * kPerThread * 3 / 2));
  // Each thread's records are in its order, batches without a break.
  std::vector<int> next(kThreads, 0);
  for (size_t k = 0; k < ids.size(); ++k) {
    const size_t t = static_cast<size_t>(ids[k][0] - '0');
    ASSERT_EQ(ids[k], absl::StrCat(t, ":", next[t]));
    if (next[t]++ % 2 == 1) {
      ++k;
      ASSERT_EQ(ids[k], ids[k - 1] + "b");
    }
  }
}

TEST_F(SpoolWriterTest, OneWriterPerDirectory) {
  auto writer = Open();
  EXPECT_THAT(SpoolWriter::Open(options_, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(options_.dir())));
  writer.reset();
  EXPECT_OK(SpoolWriter::Open(options_, ""));
}

TEST_F(SpoolWriterTest, ClosedMeansClosed) {
  const auto writer = Open();
  ASSERT_OK(writer->Close());
  ASSERT_OK(writer->Close());
  EXPECT_THAT(writer->AppendDecision(SmallDecision("a"), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const log::v1::LogRecord record = FeedbackRecord("f");
  EXPECT_THAT(writer->Append({&record, 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // No preallocated file is left.
  for (const auto& entry :
       std::filesystem::directory_iterator(options_.dir())) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

TEST_F(SpoolWriterTest, RemovesWhatADeadWriterPrepared) {
  std::filesystem::create_directories(options_.dir());
  WriteBytes(options_.dir() + "/.prepared-abcdef.tmp", "x");
  const auto writer = Open();
  EXPECT_FALSE(
      std::filesystem::exists(options_.dir() + "/.prepared-abcdef.tmp"));
}

TEST_F(SpoolWriterTest, NamesSortInTheOrderOfWritingWhateverTheClockDoes) {
  // Written when the clock was far ahead, and still there.
  const std::string old = SegmentName(int64_t{1} << 60, "server", 7);
  std::filesystem::create_directories(options_.dir());
  WriteBytes(options_.dir() + "/" + old, "");
  ASSERT_OK(Open()->Close());
  std::vector<std::string> names = Segments();
  ASSERT_THAT(names, SizeIs(2));
  EXPECT_EQ(names[0], old);
  // Read and removed.
  for (const std::string& name : names) {
    std::filesystem::remove(options_.dir() + "/" + name);
  }
  ASSERT_OK(Open()->Close());
  ASSERT_THAT(Segments(), SizeIs(1));
  EXPECT_GT(Segments()[0], names[1]);
}

TEST_F(SpoolWriterTest, RefusesAWriterIdThatIsNoPartOfAName) {
  for (const std::string& id :
       {std::string(), std::string("a/b"), std::string(65, 'x')}) {
    options_.set_writer_id(id);
    EXPECT_THAT(SpoolWriter::Open(options_, ""),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("spool.writer_id")));
  }
}

}  // namespace
}  // namespace sortition
