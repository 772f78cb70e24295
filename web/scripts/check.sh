#!/bin/sh
# All tests of the page: types, logic, behaviour in headless Chromium. What is missing is installed, or what needs it is
# skipped with the reason.
set -e
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null 2>&1; then
	echo "SKIPPED: tests of the page: there is no Node.js (20.19 or later) with npm"
	exit 0
fi
if ! npm ci --silent; then
	echo "SKIPPED: tests of the page: its dependencies could not be installed (see above)"
	exit 0
fi

echo "== types"
npm run --silent types
echo "== logic"
npm run --silent unit
echo "== the committed page is that of these sources"
npm run --silent build
git diff --quiet -- ../crates/fraglab/assets/page.html || {
	echo "crates/fraglab/assets/page.html is not what web/ builds: run 'make web' and commit it"
	exit 1
}

if [ -z "$CHROMIUM" ] && ! command -v chromium >/dev/null 2>&1; then
	if [ "$(id -u)" != 0 ] || ! { apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium; } >/dev/null 2>&1; then
		echo "SKIPPED: behaviour of the page: Chromium is not installed and could not be (CHROMIUM names another place)"
		exit 0
	fi
fi
echo "== behaviour"
npm run --silent browser
