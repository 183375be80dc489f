#pragma once
// What the code under test has logged.
#include <string>

#include "gtest/gtest.h"
#include "process/log.h"
#include "tests/testing/patience.h"

namespace sortition {

// Begins to capture standard error, without lines that were logged before.
inline void CaptureLog() {
  EXPECT_TRUE(FlushLog(Patience(60)));
  testing::internal::CaptureStderr();
}

// Returns what was written to standard error since CaptureLog(). Lines are
// written by a thread, which is waited for.
inline std::string CapturedLog() {
  EXPECT_TRUE(FlushLog(Patience(60)));
  return testing::internal::GetCapturedStderr();
}

}  // namespace sortition
