// SIGHUP ends neither server nor sidecar: they reload what they can and say so.
#include <grpcpp/client_context.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::IsEmpty;

// Overwrites the file where it is, which inotify does not report to the server.
void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

uint64_t ServedVersion(const Deployment& deployment) {
  const auto stub = v1::Models::NewStub(deployment.NewChannel());
  grpc::ClientContext context;
  v1::ListModelsResponse response;
  EXPECT_TRUE(stub->ListModels(&context, {}, &response).ok());
  for (const v1::ModelStatus& model : response.models()) {
    if (model.name() == "default") return model.version();
  }
  return 0;
}

TEST(SighupTest, ServerLooksAtItsStoreAtOnceAndServesOn) {
  Deployment deployment;
  ASSERT_OK(deployment.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  ASSERT_OK(deployment.store().Publish(SelectionModel(8, 0.2), nullptr, {}));
  const std::string file =
      absl::StrCat(deployment.models(), "/default/2/model.pb");
  ASSERT_OK_AND_ASSIGN(const std::string good, ReadFile(file));
  Overwrite(file, good.substr(1));
  const std::string config = deployment.path("server.textproto");
  Overwrite(config, "poll_seconds: 3600");
  ASSERT_OK(deployment.StartServer({"--config=" + config}));
  EXPECT_EQ(ServedVersion(deployment), 1);
  SelectLoad load({.address = deployment.address()});

  Overwrite(file, good);
  Overwrite(config, "poll_seconds: 2 threads: 3");
  deployment.server().Signal(SIGHUP);
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return ServedVersion(deployment) == 2; }));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return absl::StrContains(deployment.server().StderrText(),
                             "a restart takes them up\",\"options\":"
                             "\"poll_seconds, threads\"");
  }));
  const uint64_t answered = load.num_answered();
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return load.num_answered() > answered; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  deployment.server().Signal(SIGTERM);
  EXPECT_EQ(deployment.server().Wait(kPatienceSeconds), 0);
}

TEST(SighupTest, SidecarGoesOn) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  ASSERT_OK(deployment.StartSidecar());
  deployment.sidecar().Signal(SIGHUP);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return absl::StrContains(deployment.sidecar().StderrText(),
                             "nothing to reload");
  }));
  EXPECT_OK(deployment.SidecarMetrics());
  deployment.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment.sidecar().Wait(kPatienceSeconds), 0)
      << deployment.sidecar().StderrText();
}

// The trainer's default: it has nothing to reload, and a terminal that closes
// should end it.
TEST(SighupTest, TrainerEnds) {
  Deployment deployment;
  const std::string pipe = deployment.path("waits");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_OK_AND_ASSIGN(
      const auto trainer,
      ChildProcess::Start({BinaryPath("sortition-trainer"), "train",
                           absl::StrCat("--config=", pipe)},
                          deployment.path("trainer")));
  trainer->Signal(SIGHUP);
  EXPECT_EQ(trainer->Wait(kPatienceSeconds), -SIGHUP);
}

}  // namespace
}  // namespace sortition
