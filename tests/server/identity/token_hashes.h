#pragma once

namespace sortition {

// SHA-256 of "abc" and of the empty string, from FIPS 180-2 and the examples of
// NIST.
inline constexpr char kHashOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
inline constexpr char kHashOfNothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace sortition
