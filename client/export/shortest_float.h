#pragma once

namespace sortition {

// What WriteShortest() needs; it writes 16 characters at most.
inline constexpr int kFloatRoom = 24;

// Writes what std::to_chars(value) writes, the fewest digits that read back as
// the same number, and returns the end. `out` has room for kFloatRoom.
char* WriteShortest(float value, char* out);

}  // namespace sortition
