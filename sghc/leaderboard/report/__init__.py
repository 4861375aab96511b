"""The page that a person looks at: one HTML file that holds a score, or a comparison of two, and needs nothing else.

`single` and `double` gather what a page says as plain data, each number straight from the result; the templates beside them say it; `page` puts
both together, with everything that comes from outside escaped.
"""
