#pragma once
// The option log_level as a level of log lines.
#include "process/log.h"
#include "sortition/config/v1/log_level.pb.h"

namespace sortition {

inline LogLevel LogLevelOf(config::v1::LogLevel level) {
  switch (level) {
    case config::v1::INFO:
      return LogLevel::kInfo;
    case config::v1::WARNING:
      return LogLevel::kWarning;
    case config::v1::ERROR:
      break;
  }
  return LogLevel::kError;
}

}  // namespace sortition
