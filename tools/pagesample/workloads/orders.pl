# SPDX-License-Identifier: Apache-2.0
# Keeps a shop's orders in memory as hashes, arrays and text, and replaces old ones
# for ever.
use strict;
use warnings;

srand(1);
my @cities = qw(Leeds Bergen Ghent Porto Turku Graz Brno Cork);
my (%orders, %index);
for (my $number = 1; ; $number++) {
    my %order = (
        number => $number,
        city   => $cities[ rand @cities ],
        price  => rand(100),
        lines  => [ map { "item" . int(rand(500)) } 1 .. 5 ],
    );
    my $text = join ";", map { "$_=$order{$_}" } sort keys %order;
    $orders{ $number % 30000 } = \%order;
    $index{ substr($text, 0, 12) . $number % 5000 } = $text;
}
