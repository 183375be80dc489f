#pragma once
// Why a version of a model was refused.

namespace sortition {

enum class LoadFailure {
  // The store cannot give the version.
  kMissingFile,
  kCorrupt,  // A file is not what the manifest says.
  kInvalid,  // The model itself is out of range.
  kUnreadable,
  kMemory,  // There is no room for it.
  // The model was read, but must not serve.
  kPolicy,      // The policy cannot be served.
  kActionKind,  // Another kind of action than that of the version that serves.
  kDimension,   // Another number of features than that.
  kSelfTest,
  kWarmUp,
  // It was loaded, and other files have its number now.
  kReused,
};

// Returns the name in metrics, in logs and in front of the reason.
const char* LoadFailureName(LoadFailure failure);

}  // namespace sortition
