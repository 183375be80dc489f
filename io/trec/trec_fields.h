#pragma once
// The lines of a TREC file: fields separated by spaces or tabs.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Calls `add` with the fields of each line that is not empty, until it fails.
// InvalidArgument, naming file and line, unless a line has as many fields as
// `form` has words; an error of `add` gets file and line in front.
absl::Status ForEachTrecLine(
    const std::string& path, absl::string_view form,
    const std::function<
        absl::Status(const std::vector<absl::string_view>& fields)>& add);

}  // namespace sortition
