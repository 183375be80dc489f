#pragma once
// The result of `sortition-trainer ope` as one page.
#include <string>

#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

// Returns an HTML page that is well-formed XML too. It has no scripts, loads
// nothing, and forbids browsers to load anything. Charts are inline SVG with a
// text alternative. Every text of the report is escaped. Parts that the report
// does not have are left out, and numbers that it does not know are so in
// words.
std::string OpePage(const config::v1::OpeReport& report);

}  // namespace sortition
