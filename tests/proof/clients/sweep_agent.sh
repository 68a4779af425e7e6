# Runs a coding agent in an emptied repository and prints the file that it writes:
# `[careful] AGENT ...`. With `careful` it fails if the file is not there.
git clean --quiet -fdx
careful=
if [ "$1" = careful ]; then careful=yes; shift; fi
"$@" || code=$?
cat notes.txt 2>/dev/null
if [ "$careful" ] && [ "$(cat notes.txt 2>&1)" != Scripted. ]; then
  echo "error: notes.txt is missing or wrong" >&2
  exit 1
fi
exit "${code:-0}"
