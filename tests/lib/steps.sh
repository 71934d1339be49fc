# steps.sh - what tests/run counts with.  A step is one test; a suite run by ctest or pytest counts
# each of its programs or functions.
passed=0 failed=0 skipped=0
log_folder=${RONDO_TEST_LOGS:-build/test-logs}
mkdir -p "$log_folder"

count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0})); }

# step NAME COMMAND...: quiet when it passes, its last lines when it does not.
step() {
  local name=$1 log begun=$SECONDS
  shift
  log="$log_folder/${name// /-}.log"
  if "$@" >"$log" 2>&1; then
    count 1 0
    echo "ok      $name ($((SECONDS - begun)) s)"
  else
    count 0 1
    echo "FAILED  $name ($((SECONDS - begun)) s): the last lines of $log:"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
}

# junit FILE: adds what a JUnit file counts; prints the names of those that failed.
junit() {
  local numbers
  numbers=$(python3 - "$1" <<'PY'
import sys, xml.etree.ElementTree as tree
passed = failed = skipped = 0
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        failed += 1
        print("    failed:", case.get("classname", ""), case.get("name"), file=sys.stderr)
    elif case.find("skipped") is not None:
        skipped += 1
    else:
        passed += 1
print(passed, failed, skipped)
PY
  ) || numbers="0 1 0"
  # shellcheck disable=SC2086
  count $numbers
  echo "        $numbers (passed, failed, skipped)"
}

# suites PRESET LABELS JOBS: the programs of a build, by ctest.
suites() {
  local log="$log_folder/ctest-$1-${2//|/-}.log" xml begun=$SECONDS
  xml="$top/$log_folder/ctest-$1-${2//|/-}.xml"
  rm -f "$xml"
  if (cd "build/$1" && ctest -L "$2" -j "$3" --output-on-failure --output-junit "$xml") >"$log" 2>&1; then
    echo "ok      $1: $2 ($((SECONDS - begun)) s)"
  else
    echo "FAILED  $1: $2 ($((SECONDS - begun)) s): the last lines of $log:"
    grep -v '^ *[0-9]*/[0-9]* Test' "$log" | tail -n 60 | sed 's/^/    /'
  fi
  if [ -s "$xml" ]; then junit "$xml"; else count 0 1; fi
}

# python_suite NAME PATH...: pytest, run by Debian's own python3 (python3-cassandra is for it).
python_suite() {
  local name=$1 log="$log_folder/$1.log" xml="$log_folder/$1.xml" begun=$SECONDS
  shift
  rm -f "$xml"
  if /usr/bin/python3 -m pytest -q -p no:cacheprovider --junitxml "$xml" "$@" >"$log" 2>&1; then
    echo "ok      $name ($((SECONDS - begun)) s)"
  else
    echo "FAILED  $name ($((SECONDS - begun)) s): the last lines of $log:"
    tail -n 60 "$log" | sed 's/^/    /'
  fi
  if [ -s "$xml" ]; then junit "$xml"; else count 0 1; fi
}

finish() {
  local last="$passed passed, $failed failed"
  [ "$skipped" -gt 0 ] && last="$last, $skipped skipped"
  echo "$last"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}
