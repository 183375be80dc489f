#include "server/models/load_failure.h"

namespace sortition {

const char* LoadFailureName(LoadFailure failure) {
  switch (failure) {
    case LoadFailure::kMissingFile:
      return "missing_file";
    case LoadFailure::kCorrupt:
      return "corrupt";
    case LoadFailure::kInvalid:
      return "invalid";
    case LoadFailure::kUnreadable:
      break;
    case LoadFailure::kMemory:
      return "memory";
    case LoadFailure::kPolicy:
      return "policy";
    case LoadFailure::kActionKind:
      return "action_kind";
    case LoadFailure::kDimension:
      return "dimension";
    case LoadFailure::kSelfTest:
      return "self_test";
    case LoadFailure::kWarmUp:
      return "warm_up";
    case LoadFailure::kReused:
      return "reused";
  }
  return "unreadable";
}

}  // namespace sortition
