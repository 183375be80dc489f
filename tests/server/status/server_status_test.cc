#include "server/status/server_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "process/status/status_text.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

class ServerStatusTest : public testing::Test {
 protected:
  ServerStatusTest() {
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("m");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    options_.mutable_spool()->set_segment_bytes(65536);
    Publish(options_.model_store(), MakeSelectModel("m", {1, 2}));
  }

  void SetUp() override {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_.spool(), ""));
    models_ = std::make_unique<ModelsService>(registry_.get(), nullptr);
  }

  ServerStatusParts Parts() {
    ServerStatusParts parts;
    parts.metrics = &metrics_;
    parts.registry = registry_.get();
    parts.models = models_.get();
    parts.spool = spool_.get();
    parts.spool_dir = options_.spool().dir();
    return parts;
  }

  static status::v1::Status Parse(const std::string& json) {
    status::v1::Status status;
    const auto parsed =
        google::protobuf::util::JsonStringToMessage(json, &status);
    EXPECT_TRUE(parsed.ok()) << parsed.ToString() << "\n" << json;
    return status;
  }

  // Returns the status once `is_so` holds for it.
  static status::v1::Status Await(
      ServerStatusSource* source,
      const std::function<bool(const status::v1::Status&)>& is_so) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(Patience(30));
    while (true) {
      status::v1::Status status = Parse(source->Json());
      if (is_so(status) || std::chrono::steady_clock::now() > end) {
        EXPECT_TRUE(is_so(status)) << status.ShortDebugString();
        return status;
      }
      std::this_thread::yield();
    }
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<ModelsService> models_;
};

TEST_F(ServerStatusTest, TellsEveryPart) {
  metrics_
      .Counter("sortition_requests_total", "help",
               {{"method", "Rank"}, {"code", "OK"}})
      ->Increment(3);
  metrics_
      .Histogram("sortition_request_seconds", "help", LatencyBuckets(),
                 {{"method", "Rank"}})
      ->Observe(0.001);
  ServerStatusParts parts = Parts();
  parts.needs_token = true;
  parts.has_control = true;
  parts.why_not_ready = [] { return "the disk is on fire"; };
  const auto source = ServerStatusSource::Create(std::move(parts));
  const status::v1::Status status =
      Await(source.get(), [](const status::v1::Status& each) {
        return each.history().times_us_size() > 0;
      });
  EXPECT_EQ(status.process().role(), "server");
  EXPECT_FALSE(status.has_sidecar());
  EXPECT_EQ(status.sidecar_problem(), "");
  const status::v1::Server& server = status.server();
  EXPECT_FALSE(server.ready());
  EXPECT_EQ(server.why_not_ready(), "the disk is on fire");
  EXPECT_TRUE(server.needs_token());
  EXPECT_TRUE(server.has_control());
  EXPECT_EQ(server.models(0).name(), "m");
  EXPECT_EQ(server.models(0).version(), 1u);
  EXPECT_EQ(server.models(0).traffic(0).version(), 1u);
  EXPECT_EQ(server.methods(0).method(), "Rank");
  EXPECT_EQ(server.methods(0).codes(0).count(), 3u);
  EXPECT_EQ(server.spool().dir(), options_.spool().dir());
  EXPECT_EQ(server.spool().state(), "ok");
  EXPECT_GT(server.spool().max_bytes(), 0u);
  EXPECT_EQ(status.history().series(0).name(), "spool_bytes");
}

TEST_F(ServerStatusTest, IsMadeOnceForManyWhoAsk) {
  std::atomic<int> made{0};
  ServerStatusParts parts = Parts();
  parts.why_not_ready = [&made] {
    ++made;
    return std::string();
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto source = ServerStatusSource::Create(std::move(parts));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) source->Json();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int num_made = made;
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  EXPECT_GE(num_made, 1);
  EXPECT_LE(num_made, 1 + seconds);
  EXPECT_TRUE(Parse(source->Json()).server().ready());
}

TEST_F(ServerStatusTest, LeavesTheHistoryOutWhereAsked) {
  const auto source = ServerStatusSource::Create(Parts());
  Await(source.get(),
        [](const status::v1::Status& each) { return each.has_history(); });
  EXPECT_THAT(source->Json("history=0"), Not(HasSubstr("\"history\":{")));
  EXPECT_THAT(source->Json("history=1"), HasSubstr("\"history\":{"));
}

TEST_F(ServerStatusTest, ShowsTheSidecarThatItIsToldOf) {
  status::v1::Status of_sidecar;
  of_sidecar.mutable_process()->set_role("sidecar");
  of_sidecar.mutable_sidecar()->set_pending(41);
  const std::string json = StatusJson(of_sidecar);
  HostilePeer peer([&json](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ",
                                       json.size(), "\r\n\r\n", json));
  });
  ServerStatusParts parts = Parts();
  parts.sidecar = peer.address();
  const auto source = ServerStatusSource::Create(std::move(parts));
  const status::v1::Status status =
      Await(source.get(),
            [](const status::v1::Status& each) { return each.has_sidecar(); });
  EXPECT_EQ(status.sidecar().pending(), 41u);
  EXPECT_EQ(status.sidecar_problem(), "");
}

// The peer takes the question and never answers: nobody else notices.
TEST_F(ServerStatusTest, ASilentSidecarHoldsUpNobody) {
  HostilePeer peer([](int fd) {
    char byte = 0;
    while (::read(fd, &byte, 1) == 1) {
    }
  });
  ServerStatusParts parts = Parts();
  parts.sidecar = peer.address();
  const auto source = ServerStatusSource::Create(std::move(parts));
  const status::v1::Status status =
      Await(source.get(), [](const status::v1::Status& each) {
        return each.sidecar_problem() != "not asked yet";
      });
  EXPECT_THAT(status.sidecar_problem(), HasSubstr("no whole answer in time"));
  EXPECT_TRUE(status.server().ready());
  source->Stop();
  source->Stop();
}

// A pipe that nobody writes to stands for a network file system whose server is
// away: to open it takes for ever.
TEST_F(ServerStatusTest, AStoreThatHangsHoldsUpNobody) {
  const std::string ledger = options_.model_store() + "/m/looks.jsonl";
  ASSERT_EQ(::mkfifo(ledger.c_str(), 0600), 0);
  auto source = ServerStatusSource::Create(Parts());
  const status::v1::Status status =
      Await(source.get(), [](const status::v1::Status& each) {
        return each.server().models_size() == 1;
      });
  EXPECT_EQ(status.server().models(0).version(), 1u);
  EXPECT_EQ(status.server().models(0).versions_size(), 0);
  source->Stop();
  source.reset();
  // The thread that reads goes on, and ends: nothing is there to read.
  const int pipe = ::open(ledger.c_str(), O_RDWR);
  ASSERT_GE(pipe, 0);
  ::unlink(ledger.c_str());
  ::close(pipe);
}

}  // namespace
}  // namespace sortition
