#include "process/status/shared_text.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(SharedTextTest, IsMadeOnceForAllWhoAskInTime) {
  std::atomic<int> made = 0;
  SharedText text(std::chrono::hours(1),
                  [&made] { return std::to_string(++made); });
  EXPECT_EQ(text.Get(), "1");
  EXPECT_EQ(text.Get(), "1");
  EXPECT_EQ(made, 1);
}

TEST(SharedTextTest, IsMadeAnewWhenItIsOldAndOnlyIfSomebodyAsks) {
  std::atomic<int> made = 0;
  SharedText text(std::chrono::milliseconds(0),
                  [&made] { return std::to_string(++made); });
  EXPECT_EQ(made, 0);
  EXPECT_EQ(text.Get(), "1");
  EXPECT_EQ(text.Get(), "2");
  EXPECT_EQ(made, 2);
}

// The second text takes until the end of the test. One asks for it; meanwhile
// all others have the first one, and none of them waits for it.
TEST(SharedTextTest, WhileOneIsMadeOthersGetTheOldOne) {
  std::promise<void> is_making;
  std::promise<void> may_end;
  const std::shared_future<void> end = may_end.get_future().share();
  std::atomic<int> made = 0;
  const auto make = [&] {
    if (++made == 2) {
      is_making.set_value();
      end.wait();
    }
    return std::to_string(made);
  };
  SharedText text(std::chrono::milliseconds(100), make);
  EXPECT_EQ(text.Get(), "1");
  std::thread asker([&] {
    while (made < 2) text.Get();
  });
  is_making.get_future().wait();
  const auto begin = std::chrono::steady_clock::now();
  const std::string old = text.Get();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(old, "1");
  // A machine that stood still for a second has let it become very old.
  EXPECT_LT(took, 2 * SharedText::kPatience);
  may_end.set_value();
  asker.join();
}

TEST(SharedTextTest, AfterItsEndTheLastOneStays) {
  SharedText text(std::chrono::milliseconds(0), [] { return "text"; });
  EXPECT_EQ(text.Get(), "text");
  text.Stop();
  text.Stop();
  EXPECT_EQ(text.Get(), "text");
  SharedText never(std::chrono::hours(1), [] { return "text"; });
  never.Stop();
  EXPECT_EQ(never.Get(), "");
}

}  // namespace
}  // namespace sortition
