#pragma once
// The options of programs as those of the readers.
#include <string>

#include "io/datasets/letor.h"
#include "io/datasets/svmlight_line.h"
#include "sortition/config/v1/label_files.pb.h"

namespace sortition {

SvmlightOptions ToSvmlightOptions(const config::v1::LabelFileOptions& options);

// Returns one line on the extreme values of a file, as in "12 values of
// train.letor are no finite floats and were read as missing (extreme_values)".
// Requires that there are some.
std::string ExtremeValuesNote(const config::v1::LabelFileOptions& options,
                              const std::string& path, uint64_t count);

}  // namespace sortition
