# cmake -DOUTPUT=built_in_profiles.cc "-DPROFILES=a.yaml;b.yaml" -P embed.cmake: writes the profiles into a C++ source.
set(entries "")
foreach(path IN LISTS PROFILES)
  get_filename_component(file "${path}" NAME)
  file(READ "${path}" text)
  string(FIND "${text}" ")profile\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path}: contains the delimiter of the raw string that is to hold it")
  endif()
  string(APPEND entries "    {\"${file}\", R\"profile(${text})profile\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by provider/profiles/embed.cmake.
#include \"provider/built_in_profiles.h\"

namespace loadline::provider {
namespace {
constexpr ProfileText kTexts[] = {
${entries}};
}  // namespace

std::span<const ProfileText> built_in_profile_texts() { return kTexts; }

}  // namespace loadline::provider
")
