#include "tests/integration/streams/stream_fixture.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "io/spool/writer_state.h"
#include "sortition/log/v1/stream.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr char kStream[] = "sortition";
// Between looks at all tuples.
constexpr double kLookSeconds = 0.2;

bool ReadPosition(const std::string& path,
                  google::protobuf::Message* position) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  return bytes.ok() && position->ParseFromString(*bytes);
}

std::string WriterId(size_t server) { return absl::StrCat("server-", server); }

void ExpectOnce(const std::map<std::string, int>& counts,
                const std::set<std::string>& ids) {
  std::vector<std::string> wrong;  // Missing, repeated or unknown.
  for (const std::string& id : ids) {
    const auto found = counts.find(id);
    if (found == counts.end() || found->second != 1) wrong.push_back(id);
  }
  for (const auto& [id, count] : counts) {
    if (!ids.contains(id)) wrong.push_back(id);
  }
  EXPECT_THAT(wrong, testing::IsEmpty());
}

}  // namespace

void StreamTest::SetUp() { SKIP_WITHOUT_STREAMS(); }

void StreamTest::Start(size_t num_brokers, size_t num_servers) {
  StartServers(num_brokers, num_servers);
  for (size_t i = 0; i < num_servers; ++i) {
    loads_.push_back(std::make_unique<SelectLoad>(
        SelectLoad::Options{.address = sites_[i]->address(),
                            .threads = 1,
                            .id_prefix = absl::StrCat("load", i),
                            .has_feedback = true}));
  }
}

void StreamTest::StartServers(size_t num_brokers, size_t num_servers) {
  for (size_t i = 0; i < num_servers; ++i) {
    sites_.push_back(std::make_unique<Deployment>());
  }
  brokers_ = std::make_unique<NatsCluster>(sites_[0]->path("nats"), num_brokers,
                                           broker_config_);
  brokers_->Start();
  shippers_.resize(num_servers);
  for (size_t i = 0; i < num_servers; ++i) {
    std::vector<std::string> flags = {"--spool.writer_id=" + WriterId(i),
                                      "--spool.segment_bytes=262144",
                                      "--spool.segment_seconds=0.3"};
    flags.insert(flags.end(), server_flags_.begin(), server_flags_.end());
    ASSERT_OK(sites_[i]->StartServer(flags));
  }
}

std::unique_ptr<ChildProcess> StreamTest::StartProcess(
    const std::string& name, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), BinaryPath("sortition-sidecar"));
  arguments.push_back("--metrics_listen=");
  arguments.push_back("--http_listen=");
  arguments.push_back("--poll_seconds=0.02");
  auto process = ChildProcess::Start(arguments, sites_[0]->path(name));
  EXPECT_OK(process);
  return *std::move(process);
}

void StreamTest::StartShipper(size_t server) {
  std::vector<std::string> flags = publish_flags_;
  flags.insert(flags.end(),
               {"--spool=" + Spool(server), "--publish.url=" + brokers_->urls(),
                absl::StrCat("--publish.replicas=", brokers_->size()),
                "--publish.max_bytes=1000000000"});
  shippers_[server] = StartProcess("shipper-" + WriterId(server), flags);
}

std::vector<std::string> StreamTest::JoinFlags() const {
  return {"--tuples=" + Tuples(),
          absl::StrCat("--join.reward_wait_time_seconds=", window_),
          absl::StrCat("--join.slack_seconds=", kSlack),
          absl::StrCat("--join.max_away_seconds=", max_away_),
          "--segment_bytes=262144",
          "--segment_seconds=0.3"};
}

void StreamTest::StartConsumer() {
  const std::string mirror = sites_[0]->path("mirror");
  std::vector<std::string> flags = JoinFlags();
  flags.insert(flags.end(), {"--consume.url=" + brokers_->urls(),
                             "--mirror=" + mirror, "--spool=" + mirror + "/*"});
  flags.insert(flags.end(), consume_flags_.begin(), consume_flags_.end());
  consumer_ = StartProcess("consumer", flags);
}

void StreamTest::StartDirectorySidecar() {
  std::vector<std::string> flags = JoinFlags();
  for (size_t i = 0; i < sites_.size(); ++i) {
    flags.push_back("--spool=" + Spool(i));
  }
  directory_sidecar_ = StartProcess("directory", flags);
}

void StreamTest::End(ChildProcess* process) {
  process->Signal(SIGTERM);
  EXPECT_EQ(process->Wait(kPatienceSeconds), 0) << process->StderrText();
}

std::string StreamTest::Copy(size_t server) const {
  return sites_[0]->path("mirror") + "/" + WriterId(server);
}

void StreamTest::WaitForMoreAnswers(uint64_t more) {
  for (const auto& load : loads_) {
    const uint64_t target = load->num_answered() + more;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load->num_answered() >= target; }));
  }
}

void StreamTest::WaitForMoreTuples() {
  const auto num_segments = [&] {
    const auto names = ListSegments(Tuples());
    return names.ok() ? names->size() : 0;
  };
  const size_t target = num_segments() + 2;
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return num_segments() >= target; }));
}

void StreamTest::WaitForCopies() {
  for (size_t i = 0; i < sites_.size(); ++i) {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return std::filesystem::exists(Copy(i) + "/" + kWriterLockFile);
    }));
  }
}

void StreamTest::WaitForProgress() {
  uint64_t last = 0;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const uint64_t published = Published(i);
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return Published(i) > published + 2; }));
    last = std::max(last, Published(i));
  }
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] { return Mirrored() >= last; }));
}

size_t StreamTest::Leader() {
  std::optional<size_t> leader;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    leader = brokers_->LeaderOf(kStream);
    return leader.has_value();
  }));
  return leader.value_or(0);
}

uint64_t StreamTest::Published(size_t server) const {
  log::v1::ShipPosition position;
  return ReadPosition(Spool(server) + "/.published", &position)
             ? position.sequence()
             : 0;
}

uint64_t StreamTest::Mirrored() const {
  log::v1::MirrorPosition position;
  return ReadPosition(sites_[0]->path("mirror") + "/.position", &position)
             ? position.sequence()
             : 0;
}

void StreamTest::VisitTuples(
    const std::function<void(const log::v1::LogRecord&)>& visit) const {
  for (const std::string& dir : {Tuples(), Tuples() + "/late"}) {
    if (!std::filesystem::exists(dir)) continue;
    VisitRecords(dir, false, visit).IgnoreError();
  }
}

void StreamTest::ExpectLedgerEqual() {
  std::set<std::string> answered;
  std::set<std::string> reported;
  for (const auto& load : loads_) {
    load->Stop();
    EXPECT_TRUE(load->failures().empty());
    answered.insert(load->answered().begin(), load->answered().end());
    reported.insert(load->reported().begin(), load->reported().end());
  }
  std::map<std::string, int> tuples;
  std::map<std::string, int> joined;
  std::map<std::string, int> feedback;  // Joined or late.
  const auto take = [&](const log::v1::LogRecord& record) {
    if (record.has_tuple()) ++tuples[record.tuple().decision().decision_id()];
    for (const auto& item : record.tuple().feedback()) {
      ++joined[item.feedback_id()];
      ++feedback[item.feedback_id()];
    }
    if (!record.has_late()) return;
    EXPECT_EQ(record.late().reason(), log::v1::LateFeedback::AFTER_WINDOW);
    ++feedback[record.late().feedback().feedback_id()];
  };
  int64_t next_us = 0;
  EXPECT_TRUE(PollUntil(2 * kPatienceSeconds, [&] {
    if (SteadyUs() < next_us) return false;
    for (auto* counts : {&tuples, &joined, &feedback}) counts->clear();
    VisitTuples(take);
    next_us = SteadyUs() + Micros(kLookSeconds);
    return tuples.size() >= answered.size() &&
           feedback.size() >= reported.size();
  }));
  ExpectOnce(tuples, answered);
  ExpectOnce(feedback, reported);
  // A machine that is too busy for that shows nothing.
  EXPECT_GT(joined.size(), reported.size() / 2);
}

uint64_t StreamTest::NumCensored() const {
  uint64_t censored = 0;
  VisitTuples([&](const log::v1::LogRecord& record) {
    if (record.tuple().censored_size() > 0) ++censored;
  });
  return censored;
}

}  // namespace sortition
