// An import that is killed leaves no tuples behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/client/export/exchange_fixture.h"
#include "tests/testing/child_process.h"

namespace sortition {
namespace {

class ImportKillTest : public ExchangeFixture {};

TEST_F(ImportKillTest, NoDirectoryOfTuplesRemains) {
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string out = dir_.Sub("out");
  ASSERT_OK_AND_ASSIGN(
      const auto import,
      ChildProcess::Start(
          {BinaryPath("sortition"), "log", "import", "--format=jsonl",
           "--segment_bytes=1024", "--tuples=" + imported(), pipe},
          dir_ / "import"));
  const int fd = open(pipe.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  std::string lines;
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&lines, R"({"id": ")", i,
                    R"(", "features": [[1, 2, 3, 4]], "action": [0],)"
                    R"( "propensity": 1, "reward": 1})",
                    "\n");
  }
  ASSERT_EQ(write(fd, lines.data(), lines.size()),
            static_cast<ssize_t>(lines.size()));
  const auto has_segments = [&] {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(out)) {
      if (entry.path().extension() == ".seg") return true;
    }
    return false;
  };
  // It has written segments, and waits for more lines.
  ASSERT_TRUE(PollUntil(Patience(60), has_segments));
  import->Signal(SIGKILL);
  ASSERT_EQ(import->Wait(Patience(60)), -SIGKILL);
  close(fd);
  EXPECT_FALSE(std::filesystem::exists(imported()));
  // What is left is hidden, and does not hinder the next import.
  EXPECT_OK(ImportText(lines, {"--format=jsonl"}));
  EXPECT_EQ(ReadAllTuples(imported()).size(), 20000u);
}

}  // namespace
}  // namespace sortition
