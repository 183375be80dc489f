#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>

#include "client/quickstart/child_program.h"
#include "client/quickstart/folder.h"
#include "client/quickstart/ports.h"
#include "client/quickstart/quickstart_command.h"
#include "client/quickstart/training_schedule.h"
#include "io/files.h"
#include "process/command.h"
#include "process/options/options.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// The folder that `quickstart` writes.

class FolderTest : public testing::Test {
 protected:
  QuickstartPlan Plan(const std::string& name) const {
    return {.dir = dir_ / name,
            .rpc_port = 1,
            .metrics_port = 2,
            .http_port = 3,
            .sidecar_metrics_port = 4,
            .sidecar_http_port = 5,
            .reward_wait_time_seconds = 7};
  }

  // Reads a file of options of the folder as its program would.
  template <typename Options>
  Options Read(const std::string& dir, const char* name) {
    Options options;
    CommandLine command_line;
    EXPECT_OK(ParseOptions({"--config=" + dir + "/" + name}, &options,
                           &command_line));
    return options;
  }

  std::vector<std::string> Names() const {
    return ListDirectory(dir_ / "").value_or(std::vector<std::string>());
  }

  const TempDir dir_;
};

TEST_F(FolderTest, ItsOptionsBelongTogether) {
  const QuickstartPlan plan = Plan("it's \"new\"");
  ASSERT_OK(WriteFolder(plan));
  const auto server = Read<config::v1::ServerOptions>(plan.dir, kServerOptions);
  const auto sidecar =
      Read<config::v1::SidecarOptions>(plan.dir, kSidecarOptions);
  const auto train = Read<config::v1::TrainOptions>(plan.dir, kTrainerOptions);
  EXPECT_EQ(server.listen(), "127.0.0.1:1");
  EXPECT_EQ(server.metrics_listen(), "127.0.0.1:2");
  EXPECT_EQ(server.http().listen(), "127.0.0.1:3");
  EXPECT_EQ(sidecar.metrics_listen(), "127.0.0.1:4");
  EXPECT_EQ(server.http().sidecar(), sidecar.http_listen());
  EXPECT_THAT(sidecar.spool(), ElementsAre(server.spool().dir()));
  EXPECT_EQ(train.tuples(), sidecar.tuples());
  EXPECT_EQ(train.model_store(), server.model_store());
  EXPECT_EQ(sidecar.join().reward_wait_time_seconds(), 7);
  // A second click counts once, a thumb down is joined, and no sum of a
  // decision ends a training.
  EXPECT_EQ(sidecar.join().repeats(), config::v1::JoinOptions::ONCE_PER_RANK);
  EXPECT_EQ(sidecar.join().reward_min(), -1);
  EXPECT_EQ(sidecar.join().reward_max(), 1);
  EXPECT_EQ(server.feedback().reward_min(), -1);
  EXPECT_EQ(server.feedback().reward_max(), 1);
  EXPECT_EQ(train.reward_min(), 0);
  EXPECT_EQ(train.reward_max(), 1);
  EXPECT_TRUE(train.clamp_rewards());
  EXPECT_TRUE(train.look_when_likely());
  EXPECT_EQ(server.cold_start().explore(), 0.4);
  for (const std::string& path :
       {server.model_store(), server.spool().dir(), sidecar.tuples()}) {
    EXPECT_TRUE(std::filesystem::is_directory(path)) << path;
  }
  EXPECT_EQ(access((plan.dir + "/start.sh").c_str(), X_OK), 0);
  // Nothing else is left behind.
  EXPECT_THAT(Names(), ElementsAre("it's \"new\""));
}

TEST_F(FolderTest, KnowsItsOwn) {
  const QuickstartPlan plan = Plan("a");
  EXPECT_EQ(*LookAtFolder(plan.dir), FolderState::kAbsent);
  std::filesystem::create_directory(plan.dir);
  EXPECT_EQ(*LookAtFolder(plan.dir), FolderState::kEmpty);
  ASSERT_OK(WriteFolder(plan));
  EXPECT_EQ(*LookAtFolder(plan.dir), FolderState::kOwn);
  EXPECT_FALSE(WriteFolder(plan).ok());
}

// It may be the current directory of a shell, a mount, or a link.
TEST_F(FolderTest, AnEmptyFolderStaysTheSameOne) {
  ASSERT_EQ(mkdir((dir_ / "real").c_str(), 0700), 0);
  std::filesystem::create_symlink("real", dir_ / "link");
  struct stat before = {};
  struct stat after = {};
  ASSERT_EQ(stat((dir_ / "real").c_str(), &before), 0);
  ASSERT_OK(WriteFolder(Plan("link")));
  ASSERT_EQ(stat((dir_ / "real").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(*LookAtFolder(dir_ / "real"), FolderState::kOwn);
  EXPECT_THAT(Names(), ElementsAre("link", "real"));
}

TEST_F(FolderTest, NothingIsLeftWhereItCannotBeWritten) {
  std::filesystem::create_directory(dir_ / "empty");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  // Directories and empty files can be made, and nothing else.
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const absl::Status to_empty = WriteFolder(Plan("empty"));
  const absl::Status to_absent = WriteFolder(Plan("absent"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(to_empty.message(), HasSubstr("/empty/server.textproto"));
  EXPECT_THAT(to_absent.message(), HasSubstr("/absent/server.textproto"));
  EXPECT_EQ(*LookAtFolder(dir_ / "empty"), FolderState::kEmpty);
  EXPECT_THAT(Names(), ElementsAre("empty"));
}

TEST_F(FolderTest, OneAtATimeMayRunIt) {
  const QuickstartPlan plan = Plan("a");
  EXPECT_EQ(LockFolder(plan.dir).status().code(), absl::StatusCode::kNotFound);
  ASSERT_OK(WriteFolder(plan));
  ASSERT_OK_AND_ASSIGN(const int first, LockFolder(plan.dir));
  EXPECT_THAT(LockFolder(plan.dir), IsFailedPrecondition("/a runs already"));
  close(first);
  ASSERT_OK_AND_ASSIGN(const int second, LockFolder(plan.dir));
  close(second);
}

TEST_F(FolderTest, LeavesFoldersOfOthersAlone) {
  const QuickstartPlan plan = Plan("a");
  std::filesystem::create_directory(plan.dir);
  std::ofstream(plan.dir + "/mine") << "x";
  EXPECT_THAT(LookAtFolder(plan.dir),
              IsFailedPrecondition("must be absent, empty"));
  EXPECT_FALSE(WriteFolder(plan).ok());
  EXPECT_THAT(*ListDirectory(plan.dir), ElementsAre("mine"));
  EXPECT_THAT(Names(), ElementsAre("a"));
  std::ofstream(dir_ / "file") << "x";
  EXPECT_FALSE(LookAtFolder(dir_ / "file").ok());
}

TEST_F(FolderTest, TheCommandWritesOnceAndKeepsChanges) {
  config::v1::QuickstartOptions options;
  options.set_write_only(true);
  options.set_free_ports(true);
  std::ostringstream out, error;
  CommandOutput output{out, error};
  const std::string dir = dir_ / "new/er";
  ASSERT_OK(RunQuickstart(options, {dir + "/"}, &output));
  EXPECT_EQ(out.str(), dir + " written\n");
  const std::string changed = dir + "/" + kServerOptions;
  std::ofstream(changed) << "# changed";
  out.str("");
  ASSERT_OK(RunQuickstart(options, {dir}, &output));
  EXPECT_THAT(out.str(), HasSubstr("used as it is"));
  EXPECT_THAT(error.str(),
              HasSubstr("warning: --free_ports does nothing, because " + dir +
                        " has ports already; change it in " + dir +
                        "/server.textproto"));
  error.str("");
  options.clear_free_ports();
  options.set_reward_wait_time_seconds(3);
  ASSERT_OK(RunQuickstart(options, {dir}, &output));
  EXPECT_THAT(error.str(), HasSubstr("--reward_wait_time_seconds=3 does"));
  EXPECT_THAT(error.str(), HasSubstr("join.reward_wait_time_seconds 30 "));
  EXPECT_EQ(*ReadFile(changed), "# changed");
}

TEST(FreePortsTest, AnswersWithTheWantedPortOnlyIfItIsFree) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int taken = ntohs(address.sin_port);
  const auto ports = FreePorts({taken, 0, 0});
  ASSERT_OK(ports);
  EXPECT_EQ(std::set<int>(ports->begin(), ports->end()).size(), 3u);
  EXPECT_THAT(*ports, Not(testing::Contains(taken)));
  close(fd);
  EXPECT_THAT(*FreePorts({taken}), ElementsAre(taken));
}

// Programs that `quickstart` starts, with a shell in their place.

class ChildProgramTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProgram> Shell(const std::string& script) {
    auto child = ChildProgram::Start("/bin/sh", {"-c", script}, log());
    EXPECT_OK(child);
    return child.ok() ? *std::move(child) : nullptr;
  }

  static int WaitFor(ChildProgram* child) {
    EXPECT_TRUE(
        PollUntil(Patience(60), [&] { return child->Poll().has_value(); }));
    return child->Poll().value_or(-1);
  }

  std::string log() const { return dir_ / "log"; }

  const TempDir dir_;
};

TEST_F(ChildProgramTest, TellsItsStatusAndItsLastLine) {
  const auto child = Shell("echo one; echo two >&2; echo; exit 3");
  EXPECT_EQ(WaitFor(child.get()), 3);
  EXPECT_EQ(child->LastLine(), "two");
}

TEST_F(ChildProgramTest, IsAskedToEndAndThenKilled) {
  // The line says that the trap is set.
  const auto polite =
      Shell("trap 'exit 7' TERM; echo set; while :; do :; done");
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return polite->LastLine() == "set"; }));
  EXPECT_EQ(polite->End(Patience(60)), 7);
  std::filesystem::remove(log());
  const auto deaf = Shell("trap '' TERM; echo set; while :; do :; done");
  ASSERT_TRUE(
      PollUntil(Patience(60), [&] { return deaf->LastLine() == "set"; }));
  EXPECT_EQ(deaf->End(0.1), 128 + SIGKILL);
}

TEST_F(ChildProgramTest, HasTheSignalsOfAnOrdinaryProgram) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const auto child = Shell("kill -TERM $$");
  EXPECT_EQ(WaitFor(child.get()), 128 + SIGTERM);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ChildProgramTest, IsFoundBesideThisProgramOrInThePath) {
  EXPECT_EQ(*FindProgram("sh", "/bin"), "/bin/sh");
  EXPECT_OK(FindProgram("test_client", ""));
  EXPECT_OK(FindProgram("sh", ""));
  EXPECT_THAT(FindProgram("sh", dir_ / ""), IsNotFound("sh is not in"));
}

class TrainingScheduleTest : public ChildProgramTest {
 protected:
  TrainingScheduleTest() {
    for (const char* name : {"tuples", "logs"}) dir_.Sub(name);
    // Counts its calls, and says no at the first.
    std::ofstream(dir_ / "trainer")
        << "#!/bin/sh\necho call >> '" << (dir_ / "calls")
        << "'\necho \"$@\"\nexit 3\n";
    std::filesystem::permissions(dir_ / "trainer",
                                 std::filesystem::perms::owner_all);
  }

  size_t NumCalls() const {
    std::ifstream file(dir_ / "calls");
    size_t calls = 0;
    for (std::string line; std::getline(file, line);) ++calls;
    return calls;
  }

  // Polls at that time until a training has ended.
  std::string News(TrainingSchedule* schedule, double now_seconds) {
    std::string text;
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      text = schedule->Poll(now_seconds).value_or("an error");
      return !text.empty();
    }));
    return text;
  }
};

TEST_F(TrainingScheduleTest, TrainsAtOnceWhenThereAreTuplesAndThenOnTime) {
  TrainingSchedule schedule(
      {.program = dir_ / "trainer", .dir = dir_ / "", .every_seconds = 100});
  EXPECT_EQ(*schedule.Poll(5), "");
  EXPECT_EQ(NumCalls(), 0u);  // There is nothing to learn from.
  std::ofstream(dir_ / "tuples/1.seg") << "x";
  EXPECT_THAT(News(&schedule, 6),
              testing::StartsWith("training: nothing better: train --config="));
  EXPECT_EQ(NumCalls(), 1u);
  // Nothing is new: to train again would find the same.
  EXPECT_EQ(*schedule.Poll(1000), "");
  std::ofstream(dir_ / "tuples/2.seg") << "y";
  EXPECT_EQ(*schedule.Poll(105.9), "");
  EXPECT_EQ(NumCalls(), 1u);
  EXPECT_THAT(News(&schedule, 106), HasSubstr("nothing better"));
  EXPECT_EQ(NumCalls(), 2u);
}

// A training that took 50 s leaves the processors to others for 200 s.
TEST_F(TrainingScheduleTest, LongTrainingsAreFartherApart) {
  TrainingSchedule schedule(
      {.program = dir_ / "trainer", .dir = dir_ / "", .every_seconds = 100});
  std::ofstream(dir_ / "tuples/1.seg") << "x";
  EXPECT_EQ(*schedule.Poll(0), "");
  EXPECT_THAT(News(&schedule, 50), HasSubstr("nothing better"));
  std::ofstream(dir_ / "tuples/2.seg") << "y";
  EXPECT_EQ(*schedule.Poll(249.9), "");
  EXPECT_EQ(NumCalls(), 1u);
  EXPECT_THAT(News(&schedule, 250), HasSubstr("nothing better"));
  EXPECT_EQ(NumCalls(), 2u);
}

TEST(TrainingTextTest, SaysWhatCameOfIt) {
  EXPECT_THAT(TrainingText(kExitOk, ""), HasSubstr("was published"));
  EXPECT_EQ(TrainingText(kExitNotYet, "no tuple yet"),
            "training: not yet: no tuple yet");
  EXPECT_EQ(TrainingText(1, "a bad range"),
            "training FAILED with exit status 1: a bad range");
}

}  // namespace
}  // namespace sortition
