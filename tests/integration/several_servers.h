#pragma once
// Three servers whose front ends send retries and feedback to any of them.
#include <grpcpp/create_channel.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

inline constexpr size_t kServers = 3;
inline const double kWindowSeconds = Patience(1);

// Where the calls for a decision go.
enum class Routing { kRandom, kByDecision };

class SeveralServersTest : public testing::Test {
 protected:
  SeveralServersTest() {
    std::filesystem::create_directory(Path("models"));
    EXPECT_OK(ModelStore(Path("models"))
                  .Publish(SelectionModel(8, 0.1), nullptr, {}));
    for (size_t i = 0; i < kServers; ++i) StartServer(i);
  }
  ~SeveralServersTest() override { StopLoad(); }

  std::string Path(const std::string& name) const { return dir_ / name; }
  static std::string Writer(size_t server) {
    return absl::StrCat("server-", server);
  }

  std::unique_ptr<ChildProcess> Start(std::vector<std::string> arguments,
                                      const std::string& name,
                                      const std::string& port_name, int* port) {
    const std::string port_file = Path(name + ".ports");
    std::filesystem::remove(port_file);
    arguments.push_back(arguments[0] == "sortition-server" ? "--http.listen="
                                                           : "--http_listen=");
    arguments[0] = BinaryPath(arguments[0]);
    arguments.push_back("--port_file=" + port_file);
    arguments.push_back("--metrics_listen=127.0.0.1:0");
    auto child = ChildProcess::Start(arguments, Path(name));
    EXPECT_OK(child);
    const auto found =
        (*child)->WaitForPort(port_file, port_name, kPatienceSeconds);
    EXPECT_OK(found) << (*child)->StderrText();
    *port = found.value_or(0);
    return *std::move(child);
  }
  void StartServer(size_t i) {
    int port = 0;
    servers_[i] =
        Start({"sortition-server", "--listen=127.0.0.1:0",
               "--model_store=" + Path("models"),
               absl::StrCat("--spool.dir=", Path("spools"), "/", Writer(i)),
               "--spool.writer_id=" + Writer(i), "--spool.segment_bytes=262144",
               "--spool.segment_seconds=0.3"},
              Writer(i), "rpc", &port);
    ports_[i] = port;
  }
  std::unique_ptr<ChildProcess> StartSidecar(
      const std::string& spool, const std::string& tuples, int* port,
      const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "sortition-sidecar",
        "--spool=" + Path(spool),
        "--tuples=" + Path(tuples),
        absl::StrCat("--join.reward_wait_time_seconds=", kWindowSeconds),
        absl::StrCat("--join.slack_seconds=", Patience(1)),
        "--segment_bytes=262144",
        "--segment_seconds=0.3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Start(arguments, "sidecar-" + tuples, "metrics", port);
  }

  // Starts front ends. Without `has_ids` the servers make the decision ids.
  void StartLoad(Routing routing, bool has_ids) {
    for (uint64_t i = 0; i < 3; ++i) {
      threads_.emplace_back([this, i, routing, has_ids] {
        RandomSequence random(SeedKey(100 + i));
        for (int n = 0; !is_stopped_; ++n) {
          const std::string id =
              has_ids ? absl::StrCat("d-", i, "-", n) : std::string();
          Decide(id, routing, &random);
        }
      });
    }
  }
  void StopLoad() {
    is_stopped_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  uint64_t num_answered() const { return num_answered_; }

  std::unique_ptr<v1::Ranking::Stub> StubOf(size_t server) const {
    return v1::Ranking::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", ports_[server].load()),
                            grpc::InsecureChannelCredentials()));
  }

  // Asks servers until one answers; every fourth answer is lost on its way. A
  // front end gives an id up before the join forgets it, 2 W after it decided.
  void Decide(std::string id, Routing routing, RandomSequence* random) {
    v1::SelectRequest request;
    *request.mutable_context() = MakeContext(5, 8, 0);
    request.mutable_context()->set_decision_id(id);
    v1::SelectResponse response;
    size_t server = random->Below(kServers);
    bool is_answered = false;
    const auto deadline =
        std::chrono::system_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(kWindowSeconds * 1.5e6));
    while (!is_answered && !is_stopped_ &&
           std::chrono::system_clock::now() < deadline) {
      grpc::ClientContext context;
      context.set_deadline(deadline);
      const bool is_ok =
          StubOf(server)->Select(&context, request, &response).ok();
      is_answered = is_ok && (id.empty() || random->Below(4) > 0);
      if (!is_answered && routing == Routing::kRandom) {
        server = random->Below(kServers);
      }
    }
    if (!is_answered) return;
    id = response.result().decision_id();
    ++num_answered_;
    {
      const std::lock_guard lock(mutex_);
      answered_.push_back(id);
    }
    if (random->Below(2) == 0) Report(id, server, routing, random);
  }

  void Report(const std::string& id, size_t server, Routing routing,
              RandomSequence* random) {
    v1::ReportFeedbackRequest request;
    v1::Feedback& feedback = *request.add_feedback();
    feedback.set_feedback_id(FeedbackId(id));
    feedback.set_decision_id(id);
    feedback.set_reward(1);
    bool is_acknowledged = false;
    while (!is_acknowledged && !is_stopped_) {
      if (routing == Routing::kRandom) server = random->Below(kServers);
      grpc::ClientContext context;
      SetDeadline(&context);
      v1::ReportFeedbackResponse response;
      const bool is_ok =
          StubOf(server)->ReportFeedback(&context, request, &response).ok();
      is_acknowledged = is_ok && random->Below(4) > 0;
    }
    if (!is_acknowledged) return;
    const std::lock_guard lock(mutex_);
    reported_.push_back(FeedbackId(id));
  }
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(20));
  }

  bool WaitForAnswers(uint64_t more) {
    const uint64_t until = num_answered_ + more;
    return PollUntil(kPatienceSeconds, [&] { return num_answered_ >= until; });
  }

  // Counts what is in the tuples, and in the tuples or late.
  struct Output {
    std::map<std::string, int> decisions;
    std::map<std::string, int> joined;
    std::map<std::string, int> feedback;
    int marks = 0;
  };
  Output Read(const std::string& tuples) const {
    Output output;
    const auto take = [&](const log::v1::LogRecord& record) {
      if (record.has_incomplete()) ++output.marks;
      if (record.has_tuple()) {
        ++output.decisions[record.tuple().decision().decision_id()];
        EXPECT_EQ(record.tuple().reward(), record.tuple().feedback_size());
      }
      for (const auto& feedback : record.tuple().feedback()) {
        ++output.joined[feedback.feedback_id()];
        ++output.feedback[feedback.feedback_id()];
      }
      if (record.has_late()) {
        ++output.feedback[record.late().feedback().feedback_id()];
      }
    };
    EXPECT_OK(VisitRecords(Path(tuples), false, take));
    if (std::filesystem::exists(Path(tuples) + "/late")) {
      EXPECT_OK(VisitRecords(Path(tuples) + "/late", false, take));
    }
    return output;
  }
  static bool HasAll(const std::map<std::string, int>& counts,
                     const std::vector<std::string>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
      return counts.contains(id);
    });
  }
  static std::vector<std::string> Repeated(
      const std::map<std::string, int>& counts) {
    std::vector<std::string> ids;
    for (const auto& [id, count] : counts) {
      if (count > 1) ids.push_back(id);
    }
    return ids;
  }

  // What the programs of the test have said.
  std::string Logs() const {
    std::string logs;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(Path("."))) {
      if (entry.path().extension() != ".stderr") continue;
      absl::StrAppend(&logs, entry.path().filename().string(), ":\n",
                      ReadFile(entry.path()).value_or(""));
    }
    return logs;
  }

  // Ends the load, and `joiner` once it has written what it should.
  void ExpectEverythingOnce(ChildProcess* joiner) {
    ASSERT_TRUE(WaitForAnswers(200));
    StopLoad();
    Output output;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] {
                            output = Read("tuples");
                            return HasAll(output.decisions, answered_) &&
                                   HasAll(output.feedback, reported_);
                          }))
        << answered_.size() << " answered, " << output.decisions.size()
        << " tuples; " << reported_.size() << " reported, "
        << output.feedback.size() << " in tuples or late\n"
        << Logs();
    joiner->Signal(SIGTERM);
    EXPECT_EQ(joiner->Wait(kPatienceSeconds), 0);
    output = Read("tuples");
    EXPECT_THAT(Repeated(output.decisions), testing::IsEmpty());
    EXPECT_THAT(Repeated(output.joined), testing::IsEmpty());
    EXPECT_GT(output.joined.size(), reported_.size() / 2);
    EXPECT_EQ(output.marks, 0);
  }

  const TempDir dir_;
  std::array<std::unique_ptr<ChildProcess>, kServers> servers_;
  std::array<std::atomic<int>, kServers> ports_ = {};
  std::atomic<bool> is_stopped_ = false;
  std::atomic<uint64_t> num_answered_ = 0;
  std::mutex mutex_;
  std::vector<std::string> answered_;
  std::vector<std::string> reported_;
  std::vector<std::thread> threads_;
};

}  // namespace sortition
