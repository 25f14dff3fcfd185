# loadline_folder(NAME SOURCES a.cc … DEPENDS loadline::base … PRIVATE OpenSSL::SSL …)
# One library a folder: loadline_<NAME>, alias loadline::<NAME>. DEPENDS is public, PRIVATE stays in the .cc files.
function(loadline_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  if(arg_SOURCES)
    add_library(loadline_${name} STATIC ${arg_SOURCES})
    target_link_libraries(loadline_${name} PUBLIC loadline::flags ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  else()
    add_library(loadline_${name} INTERFACE)
    target_link_libraries(loadline_${name} INTERFACE loadline::flags ${arg_DEPENDS} ${arg_PRIVATE})
  endif()
  add_library(loadline::${name} ALIAS loadline_${name})
endfunction()

# loadline_test(NAME LABEL unit|contract SOURCES a_test.cc … DEPENDS loadline::kube …): a GoogleTest binary, its tests
# found when ctest runs. They run in the repository's root, which is their LOADLINE_SOURCE_DIR: no absolute path goes into an
# object, so that the compiler's cache serves every clone.
function(loadline_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE loadline::flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE LOADLINE_SOURCE_DIR=".")
  gtest_discover_tests(${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT 120)
endfunction()

# loadline_fuzz(NAME SOURCES a_fuzz.cc DEPENDS …): a libFuzzer binary fuzz_<NAME>, corpus in tests/fuzz/corpus/<NAME>.
function(loadline_fuzz name)
  if(NOT LOADLINE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(fuzz_${name} ${arg_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE loadline::flags ${arg_DEPENDS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
